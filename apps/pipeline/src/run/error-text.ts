import { SourceError } from '@headgate/sources';

/** An error in words: those made for people as they are, anything unexpected with its stack, so that it can be reported. */
export function errorText(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const { code } = error as { code?: unknown };
  if (typeof code === 'string' && code.startsWith('HEADGATE_')) return error.message;
  return error.stack ?? error.message;
}

/** Why the work ended: as `errorText`, and of a refused credential whose it is and that nothing but a start is needed once it is right. */
export function failureText(error: unknown): string {
  const said = errorText(error);
  if (!(error instanceof SourceError) || error.credential === undefined) return said;
  const whose = said.startsWith(`${error.credential}: `) ? `${error.service} credential ` : '';
  return `${whose}${said} Then start again: nothing is lost.`;
}
