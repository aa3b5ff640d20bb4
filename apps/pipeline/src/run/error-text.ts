/** Returns an error as text. The text of an unexpected error includes its stack, so that users can report it. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('HEADGATE_')) return error.message;
  return error.stack ?? error.message;
}
