/**
 * Whether an error says that somebody has to bring the secret, a file that is missing, say: its code is `HEADGATE_SECRET_AWAITED`. Who throws
 * it promises that its message holds no secret.
 */
export function isAwaitedSecret(error: unknown): error is Error {
  return error instanceof Error && 'code' in error && error.code === 'HEADGATE_SECRET_AWAITED';
}
