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
  const said = errorText(error);
  if (!(error instanceof SourceError) || error.credential === undefined) return said;
  const whose = said.startsWith(`${error.credential}: `) ? `${error.service} credential ` : '';
  return `${whose}${said} Then start the run again. No data is lost.`;
}
