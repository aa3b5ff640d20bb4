/** The group's living members have agreed on something else than this process brings, so it gets no lanes and has left. */
export class GroupDisagreementError extends Error {
  override readonly name = 'GroupDisagreementError';
  readonly code = 'HEADGATE_GROUP_DISAGREEMENT';
  readonly retryable = false;
  readonly group: string;

  constructor(details: { readonly group: string }, options?: ErrorOptions) {
    super(
      `Group "${details.group}" is worked by processes with other settings: lanes, pipelines, credentials' names or limits. ` +
        'All processes of a group need the same ones: stop the others, or start this one with their config.',
      options,
    );
    this.group = details.group;
  }
}

/** The group is in use by consumers of another kind, so this process can't join it. */
export class GroupTakenError extends Error {
  override readonly name = 'GroupTakenError';
  readonly code = 'HEADGATE_GROUP_TAKEN';
  readonly retryable = false;
  readonly group: string;

  constructor(details: { readonly group: string }, options?: ErrorOptions) {
    super(
      `Group "${details.group}" is in use by consumers that aren't Headgate's, or by another release. If they have just been killed, brokers ` +
        'keep their places until their session time-out has passed (45 s as a rule): start again after that. Else choose another group.',
      options,
    );
    this.group = details.group;
  }
}
