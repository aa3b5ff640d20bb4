import * as z from 'zod';

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

/** Returns a schema for a size: text such as `16MiB`, with B, KiB, MiB or GiB, or a number of bytes. The parsed value is in bytes. */
export function byteSize(): z.ZodType<number, string | number> {
  const schema = z.union([z.string(), z.int()]).transform((given, context) => {
    const bytes = typeof given === 'number' ? given : bytesOf(given);
    const flaw = flawOf(bytes);
    if (flaw !== undefined) context.addIssue({ code: 'custom', message: flaw });
    return bytes ?? z.NEVER;
  });
  return schema.meta({ type: 'string', format: 'byte-size', examples: ['16MiB'] });
}

function bytesOf(text: string): number | undefined {
  const [, digits = '', unit = ''] = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text) ?? [];
  const factor = UNITS[unit];
  return factor === undefined ? undefined : Number(digits) * factor;
}

function flawOf(bytes: number | undefined): string | undefined {
  if (bytes === undefined) return "isn't a size. Write a whole number with B, KiB, MiB or GiB, such as 16MiB.";
  if (bytes <= 0) return 'must be more than zero, for example 16MiB.';
  return Number.isSafeInteger(bytes) ? undefined : 'is too large. Write less, for example 16MiB.';
}
