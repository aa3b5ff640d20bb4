/**
 * The function that returns a secret threw.
 *
 * The thrown error is deliberately neither the cause nor quoted: it may contain the secret.
 */
export class SecretUnavailableError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'SecretUnavailableError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_SECRET_UNAVAILABLE';
  /** True: the function is called again for the next request, and may then succeed. */
  readonly retryable = true;

  /**
   * @param signer the kind of signer, such as `bearer`
   * @param secret which secret of it, such as `token`
   */
  constructor(signer: string, secret: string) {
    super(
      `The function for the ${secret} of the ${signer} signer threw. Its error isn't shown, because it may contain the secret. Call the function directly to see it.`,
    );
  }
}
