import { Complaint } from './complaint.ts';
import { shown } from './problem.ts';

const UNITS: readonly (readonly [unit: string, ms: number, aliases: RegExp])[] = [
  ['d', 86_400_000, /^d(ays?)?$/i],
  ['h', 3_600_000, /^h((ou)?rs?)?$/i],
  ['m', 60_000, /^m(in(ute)?s?)?$/i],
  ['s', 1000, /^s(ec(ond)?s?)?$/i],
  ['ms', 1, /^(ms|milli(second)?s?)$/i],
];
const LONGEST_MS = 3650 * 86_400_000;

export interface ReadDurationOptions {
  /** As written in the file: `15m`, `900s`, `900000ms`, `24h`, `1d`. */
  readonly text: string;
  /** What a complaint repeats of it; default the text. */
  readonly written?: string;
  /** Whether `0s` may stand; default false. */
  readonly zero?: boolean;
}

/** Reads a duration into ms: a whole number and one of ms, s, m, h, d, with nothing between; the complaint proposes what was probably meant. */
export function readDuration({ text, written = text, zero = false }: ReadDurationOptions): number | Complaint {
  const [, digits = '', unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS.find(([name]) => name === unit)?.[1];
  if (factor === undefined) return new Complaint(`${shown(written)} is not a duration. Write ${proposal(text === written ? text : '')}.`);
  const ms = Number(digits) * factor;
  if (ms === 0 && !zero) return new Complaint('must be longer than nothing.');
  if (ms > LONGEST_MS) return new Complaint('is longer than 3650d. Write less.');
  return ms;
}

/** Every way to write the duration the user seems to have meant, largest unit first; examples where that can't be told. */
function proposal(text: string): string {
  const [, digits = '', word = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*$/i.exec(text) ?? [];
  const factor = UNITS.find(([, , aliases]) => aliases.test(word))?.[1];
  if (/^\s*[1-9]\d{0,9}\s*$/.test(text)) return `${text.trim()}s or ${text.trim()}ms`;
  const ms = Number(digits) * (factor ?? Number.NaN);
  if (!Number.isSafeInteger(ms) || ms < 1 || ms > LONGEST_MS) return 'a whole number with ms, s, m, h or d, as in 15m';
  const ways = UNITS.filter(([, unitMs]) => ms % unitMs === 0).map(([name, unitMs]) => `${ms / unitMs}${name}`);
  return ways.length === 1 ? ways.join('') : `${ways.slice(0, -1).join(', ')} or ${ways.at(-1)}`;
}
