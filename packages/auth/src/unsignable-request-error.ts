/** A request can't be signed. The message names the reason, and only method, host and path of the request. */
export class UnsignableRequestError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'UnsignableRequestError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_UNSIGNABLE_REQUEST';
  /** False: the request itself must be changed. */
  readonly retryable = false;

  /**
   * @param request short description of the request without secrets, such as `GET https://example.com/path`
   * @param reason what is in the way, and what to do
   */
  constructor(request: string, reason: string) {
    super(`Can't sign ${request}: ${reason}`);
  }
}
