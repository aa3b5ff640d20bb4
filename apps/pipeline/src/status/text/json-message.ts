import { escapedControls } from './escaped-controls.ts';
import { safeText } from './safe-text.ts';

/** A log line in JSON, for messages that don't go through a reporter. */
export function jsonMessage({ level, at, event, message }: JsonMessage): string {
  return `${escapedControls(JSON.stringify({ level, time: new Date(at).toISOString(), event, msg: safeText(message, 2_000) }))}\n`;
}

interface JsonMessage {
  readonly level: 'warn' | 'error';
  /** Epoch ms. */
  readonly at: number;
  readonly event: string;
  readonly message: string;
}
