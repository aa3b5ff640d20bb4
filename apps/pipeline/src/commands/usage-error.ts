/** An invalid command line: the command ends with exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
  readonly code = 'HEADGATE_USAGE';
  readonly retryable = false;
}
