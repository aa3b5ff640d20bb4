import { SourceError } from '@headgate/sources';
import { LaneHeldError } from '@headgate/topics';
import { createTimeWords } from '../status/text/time-words.ts';
import { errorText } from './error-text.ts';

/** Describes why work ended, and how to continue. */
export function failureText(error: unknown): string {
  if (error instanceof LaneHeldError) {
    const { pid, sinceMs } = error;
    const since = sinceMs === null ? '' : `, since ${createTimeWords().time(sinceMs)}`;
    const who = pid === null ? 'Another process' : `Another run (process ${pid}${since})`;
    return `${who} is using this log. Stop it, or wait until it ends. No data is lost.`;
  }
  const isOfCredential = error instanceof SourceError && error.credential !== undefined;
  return `${sourceText(error)}${isOfCredential ? ' Then start the run again. No data is lost.' : ''}`;
}

/** Returns an error of a request as text. If it's about a credential, the text also names the service. */
export function sourceText(error: unknown): string {
  const said = errorText(error);
  const isOfCredential = error instanceof SourceError && error.credential !== undefined && said.startsWith(`${error.credential}: `);
  return isOfCredential ? `${error.service} credential ${said}` : said;
}
