/**
 * Whether an error with the code `HEADGATE_SECRET_AWAITED` says that the secret isn't available yet: for example, its file is missing.
 * Throw such an error only with a message that contains no secret.
 */
export function isAwaitedSecret(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'HEADGATE_SECRET_AWAITED';
}
