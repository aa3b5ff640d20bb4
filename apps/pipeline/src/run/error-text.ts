/** An error as text: messages for users unchanged, unexpected errors with their stack, so that users can report them. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('HEADGATE_')) return error.message;
  return error.stack ?? error.message;
}
