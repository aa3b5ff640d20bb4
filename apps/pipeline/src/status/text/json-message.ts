import { escapedControls } from './escaped-controls.ts';

export type Level = 'info' | 'warn' | 'error';

/** A log line in JSON: the level, the time `at` (epoch ms), the fields, of which `event` is the first, and the message. */
export function jsonMessage(level: Level, at: number, fields: object, message: string): string {
  return `${escapedControls(JSON.stringify({ level, time: new Date(at).toISOString(), ...fields, msg: message }))}\n`;
}
