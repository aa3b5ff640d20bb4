import { toIsbn13 } from '@headgate/operators';

/** Returns different valid ISBN-13s, the same ones each time. */
export function sampleIsbns(count: number): readonly string[] {
  return Array.from({ length: count }, (_, n) => {
    const stem = `978${String(100_000_000 + n * 7_919)}`;
    return Array.from({ length: 10 }, (__, check) => toIsbn13(`${stem}${check}`)).find((isbn) => isbn !== undefined) ?? '';
  });
}
