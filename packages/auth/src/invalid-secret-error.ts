/** A secret is empty, no text, or can't be sent in a header. The message says which one and why, never the secret. */
export class InvalidSecretError extends Error {
  override readonly name = 'InvalidSecretError';
  readonly code = 'HEADGATE_INVALID_SECRET';
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
