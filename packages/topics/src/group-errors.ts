/** A group has members at work, and brokers take its offsets from nobody else. */
export class GroupInUseError extends Error {
  override readonly name = 'GroupInUseError';
  readonly code = 'HEADGATE_GROUP_IN_USE';
  readonly retryable = false;
  readonly group: string;

  constructor(details: { readonly group: string }, options?: ErrorOptions) {
    super(
      `Nothing can be committed for group "${details.group}": it has members at work, and offsets are taken from them alone. ` +
        'Read with another group, or stop its members first.',
      options,
    );
    this.group = details.group;
  }
}
