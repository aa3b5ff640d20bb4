/** Two crawls hold more different ids than the comparison may remember. */
export class TooManyIdsError extends Error {
  override readonly name = 'TooManyIdsError';
  readonly code = 'HEADGATE_TOO_MANY_IDS';
  readonly retryable = false;

  /** @param maxIds how many may be remembered */
  constructor(maxIds: number) {
    super(`The crawls hold more than ${maxIds} different ids together. Raise maxIds, at 16 bytes of memory an id.`);
  }
}
