import stringWidth from 'fast-string-width';

/** Number of terminal cells that a text takes. */
export function displayWidth(text: string): number {
  return stringWidth(text);
}

/** The text in at most `width` cells, its end replaced by `…` if it is longer. */
export function fitWidth(text: string, width: number): string {
  if (width <= 0) return '';
  if (displayWidth(text) <= width) return text;
  let fitted = '';
  let used = 0;
  // Made only when a text is too long, because the first one costs a process some 10 ms.
  for (const { segment } of new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)) {
    used += displayWidth(segment);
    if (used > width - 1) break;
    fitted += segment;
  }
  return `${fitted}…`;
}

/** The text in exactly `width` cells: padded with spaces, or cut as `fitWidth` does. */
export function padWidth(text: string, width: number): string {
  const fitted = fitWidth(text, width);
  return fitted + ' '.repeat(Math.max(0, width - displayWidth(fitted)));
}

/** A bar of `width` characters, filled by `share` (0 to 1). With two or more characters, it is empty only at 0 and full only at 1. */
export function bar(share: number, width: number): string {
  const part = Math.max(Math.min(1, width - 1), Math.min(width - 1, Math.round(share * width)));
  const filled = !(share > 0) || width <= 0 ? 0 : share >= 1 ? width : part;
  return '█'.repeat(filled) + '░'.repeat(width - filled);
}
