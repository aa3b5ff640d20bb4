/** The codes of an {@link AuthError}. */
export type AuthErrorCode =
  /** A secret is invalid: for example, it is empty, or a header can't carry it. */
  | 'HEADGATE_INVALID_SECRET'
  /** The function for a secret failed. Its error isn't shown, not even as the cause, because the error may contain the secret. */
  | 'HEADGATE_SECRET_UNAVAILABLE'
  /** A request can't be signed unless it is changed. */
  | 'HEADGATE_UNSIGNABLE_REQUEST'
  /** A clock offset isn't a finite number of milliseconds. */
  | 'HEADGATE_INVALID_CLOCK_OFFSET';

/** A secret, a request or a clock offset is unusable. The message says which and why, and contains none of the signer's secrets. */
export class AuthError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'AuthError';
  /** Identifies the kind of error, even if two copies of this package make `instanceof` fail. */
  readonly code: AuthErrorCode;
  /** True only for `HEADGATE_SECRET_UNAVAILABLE`: the next request calls the secret's function again, which can then succeed. */
  readonly retryable: boolean;

  constructor(code: AuthErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
    this.retryable = code === 'HEADGATE_SECRET_UNAVAILABLE';
  }
}

const CURE = 'Check where it is configured, for example whether its environment variable is set.';

/** `reason`: what is wrong with the secret, such as `is empty`. The message continues with it after the secret's name. */
export function invalidSecret(signer: string, secret: string, reason: string): AuthError {
  return new AuthError('HEADGATE_INVALID_SECRET', `The ${secret} of the ${signer} signer ${reason}. ${CURE}`);
}

export function secretUnavailable(signer: string, secret: string): AuthError {
  const message =
    `The function for the ${secret} of the ${signer} signer threw. Its error isn't shown, because it may contain the secret. ` +
    'Call the function directly to see it.';
  return new AuthError('HEADGATE_SECRET_UNAVAILABLE', message);
}

/** `request`: a short description without secrets, such as `GET https://example.com/path`. */
export function unsignable(request: string, reason: string, options?: ErrorOptions): AuthError {
  return new AuthError('HEADGATE_UNSIGNABLE_REQUEST', `Can't sign ${request}: ${reason}`, options);
}

/**
 * Returns true if an error has the code `HEADGATE_SECRET_AWAITED`: a secret isn't available yet, for example because its file is missing.
 * Signers pass such an error on unchanged, so its message must contain no secret.
 */
export function isAwaitedSecret(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'HEADGATE_SECRET_AWAITED';
}
