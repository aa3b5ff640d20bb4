import { escapedControls } from './escaped-controls.ts';
import { safeText } from './safe-text.ts';

/** A line of a log for what no reporter tells: before it is there, and after it has ended. */
export function jsonMessage({ level, event, message }: { level: 'warn' | 'error'; event?: string; message: string }): string {
  return `${escapedControls(JSON.stringify({ level, ...(event !== undefined && { event }), msg: safeText(message, 2_000) }))}\n`;
}
