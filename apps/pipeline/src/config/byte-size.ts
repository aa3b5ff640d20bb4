import { Complaint } from './complaint.ts';
import { shown } from './problem.ts';

const UNITS: Readonly<Record<string, number>> = { B: 1, KiB: 2 ** 10, MiB: 2 ** 20, GiB: 2 ** 30 };

export interface ReadByteSizeOptions {
  /** As written in the file: `16MiB`. */
  readonly text: string;
  /** What a complaint repeats of it; default the text. */
  readonly written?: string;
}

/** Reads a size into bytes: a whole number and one of B, KiB, MiB, GiB, with nothing between. */
export function readByteSize({ text, written = text }: ReadByteSizeOptions): number | Complaint {
  const [, digits = '', unit = ''] = /^(\d+)(B|KiB|MiB|GiB)$/.exec(text) ?? [];
  const bytes = Number(digits) * (UNITS[unit] ?? Number.NaN);
  if (Number.isNaN(bytes))
    return new Complaint(`${shown(written)} is not a size. Write a whole number with B, KiB, MiB or GiB, as in 16MiB.`);
  if (bytes === 0) return new Complaint('must be more than nothing, as in 16MiB.');
  if (!Number.isSafeInteger(bytes)) return new Complaint(`${shown(written)} is more than can be counted. Write less, as in 16MiB.`);
  return bytes;
}
