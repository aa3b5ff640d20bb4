/** An option of an emulator is not usable; the message names the option and says what it takes. */
export class SandboxOptionError extends Error {
  readonly code = 'HEADGATE_SANDBOX_OPTION';
  readonly retryable: boolean = false;

  constructor(message: string) {
    super(message);
    this.name = 'SandboxOptionError';
  }
}
