import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

export interface DurationOptions {
  /** Whether 0 will do. Default false. */
  readonly zero?: boolean;
}

/** The schema of a duration in a pipeline's options: `15m`, `900s`, `900000ms`, `24h`, `30d`, or a number of milliseconds. Gives milliseconds. */
export function duration({ zero = false }: DurationOptions = {}): z.ZodType<number, string | number> {
  return z.union([z.number().nonnegative(), z.string()]).transform((given, context) => {
    const ms = typeof given === 'number' ? given : msOf(given);
    if (ms > 0 || (zero && ms === 0)) return ms;
    context.addIssue({ code: 'custom', message: `"${given}" is not a duration. Write 15m, 900s or 900000ms.` });
    return z.NEVER;
  }) as z.ZodType<number, string | number>;
}

function msOf(text: string): number {
  const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(text) ?? [];
  return Number(number) * (UNITS[unit] ?? NaN);
}
