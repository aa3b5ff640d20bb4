/** The error for an invalid option of an emulator. The message says what is wrong, and how to correct it. */
export class SandboxOptionError extends Error {
  /** Identifies the error even if `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_SANDBOX_OPTION';
  /** False: the option itself must be changed. */
  readonly retryable: boolean = false;

  constructor(message: string) {
    super(message);
    this.name = 'SandboxOptionError';
  }
}
