import { escapedControls } from './escaped-controls.ts';

export type Level = 'info' | 'warn' | 'error';

/** Maximum characters of a text, because keys and names from jobs and services can be long. */
const MAX_FIELD = 2_000;

/** A log line in JSON: the level, the time `at` (epoch ms), the fields, of which `event` is the first, and the message. */
export function jsonMessage(level: Level, at: number, fields: object, message: string): string {
  const line = JSON.stringify({ level, time: new Date(at).toISOString(), ...fields, msg: message }, (_, value: unknown) =>
    typeof value === 'string' && value.length > MAX_FIELD ? `${value.slice(0, MAX_FIELD)}…` : value,
  );
  return `${escapedControls(line)}\n`;
}
