import { SourceError } from '@headgate/sources';
import { errorText } from './error-text.ts';

/** Why the work ended: as `errorText`, and of a refused credential whose it is and that nothing but a start is needed once it is right. */
export function failureText(error: unknown): string {
  const said = errorText(error);
  if (!(error instanceof SourceError) || error.credential === undefined) return said;
  const whose = said.startsWith(`${error.credential}: `) ? `${error.service} credential ` : '';
  return `${whose}${said} Then start again: nothing is lost.`;
}
