/** An error in words: those made for people as they are, anything unexpected with its stack, so that it can be reported. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('HEADGATE_')) return error.message;
  return error.stack ?? error.message;
}
