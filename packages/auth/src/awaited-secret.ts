/**
 * Returns true if an error has the code `HEADGATE_SECRET_AWAITED`: a secret isn't available yet, for example because its file is missing.
 * Signers pass such an error on unchanged, so its message must contain no secret.
 */
export function isAwaitedSecret(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'HEADGATE_SECRET_AWAITED';
}
