import * as z from 'zod';

const UNITS: readonly (readonly [unit: string, ms: number, aliases: RegExp])[] = [
  ['d', 86_400_000, /^d(ays?)?$/i],
  ['h', 3_600_000, /^h((ou)?rs?)?$/i],
  ['m', 60_000, /^m(in(ute)?s?)?$/i],
  ['s', 1_000, /^s(ec(ond)?s?)?$/i],
  ['ms', 1, /^(ms|milli(second)?s?)$/i],
];
const MAX_MS = 3_650 * 86_400_000;

/** Options of {@link duration}. */
export interface DurationOptions {
  /** Whether 0 is a valid duration. Default: false. */
  readonly zero?: boolean;
}

/**
 * Returns a schema for a duration in a pipeline's options: `15m`, `900s`, `900000ms`, `24h`, `30d`, or a number of milliseconds. The
 * maximum is 3,650 days. The parsed value is in milliseconds.
 */
export function duration({ zero = false }: DurationOptions = {}): z.ZodType<number, string | number> {
  const schema = z.union([z.string(), z.number()]).transform((given, context) => {
    const ms = typeof given === 'number' ? given : msOf(given);
    const flaw = ms === undefined ? `isn't a duration. Write ${proposal(String(given))}.` : flawOf(ms, zero);
    if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
    return ms ?? z.NEVER;
  });
  return schema.meta({ type: 'string', format: 'headgate-duration', pattern: '^\\d+(ms|s|m|h|d)$', examples: ['15m'] });
}

function msOf(text: string): number | undefined {
  const [, digits = '', unit] = /^(\d+)(ms|s|m|h|d)$/.exec(text) ?? [];
  const factor = UNITS.find(([name]) => name === unit)?.[1];
  return factor === undefined ? undefined : Number(digits) * factor;
}

function flawOf(ms: number, zero: boolean): string | undefined {
  if (ms < 0 || (ms === 0 && !zero)) return 'must be longer than 0.';
  return ms > MAX_MS ? 'is longer than the maximum of 3650d.' : undefined;
}

/** Returns what to write instead of an invalid text: the spellings of the duration that it probably means, or an example. */
function proposal(text: string): string {
  const [, digits = '', word = ''] = /^\s*(\d+(?:\.\d+)?)\s*([a-z]+)\.?\s*$/i.exec(text) ?? [];
  const factor = UNITS.find(([, , aliases]) => aliases.test(word))?.[1];
  if (/^\s*[1-9]\d{0,9}\s*$/.test(text)) return `${text.trim()}s or ${text.trim()}ms`;
  const ms = Number(digits) * (factor ?? Number.NaN);
  if (!Number.isSafeInteger(ms) || ms < 1 || ms > MAX_MS) return 'a whole number with ms, s, m, h or d, such as 15m';
  const ways = UNITS.filter(([, unitMs]) => ms % unitMs === 0).map(([name, unitMs]) => `${ms / unitMs}${name}`);
  return ways.length === 1 ? ways.join('') : `${ways.slice(0, -1).join(', ')} or ${ways.at(-1)}`;
}
