/** A secret is empty, isn't text, or can't be sent in a header. The message says which one and why, and never contains the secret. */
export class InvalidSecretError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'InvalidSecretError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_INVALID_SECRET';
  /** False: the secret itself must be changed. */
  readonly retryable = false;

  /**
   * @param signer the kind of signer, such as `bearer`
   * @param secret which secret of it, such as `token`
   * @param reason what is wrong with it
   */
  constructor(signer: string, secret: string, reason: string) {
    super(`The ${secret} of the ${signer} signer ${reason}. Check where it is configured.`);
  }
}
