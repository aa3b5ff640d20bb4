import { z } from 'zod';

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The schema of a duration in a pipeline's options: `15m`, `900s`, `900000ms`, `24h`, `30d`, or a number of milliseconds. Gives milliseconds. */
export function duration(): z.ZodType<number, string | number> {
  return z.union([z.number().positive().finite(), z.string()]).transform((given, context) => {
    if (typeof given === 'number') return given;
    const [, number, unit = ''] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(given) ?? [];
    const ms = Number(number) * (UNITS[unit] ?? NaN);
    if (ms > 0) return ms;
    context.addIssue({ code: 'custom', message: `"${given}" is not a duration. Write 15m, 900s or 900000ms.` });
    return z.NEVER;
  }) as z.ZodType<number, string | number>;
}
