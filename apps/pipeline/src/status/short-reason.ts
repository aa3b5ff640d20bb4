import { safeText } from './text/safe-text.ts';
import type { Reason } from './run-event.ts';

/** What comes from outside may be a megabyte; what is kept of it is for reading. */
export function shortReason(error: Reason): Reason {
  return { code: safeText(error.code, 100), message: safeText(error.message, 500) };
}
