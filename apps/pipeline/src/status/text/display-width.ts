const graphemes = new Intl.Segmenter('en', { granularity: 'grapheme' });
const oneCellEach = /^[\x20-\x7E\u00A1-\u00AC\u00AE-\u02FF█░…]*$/;
const noCell = /^[\p{M}\p{Cf}]+$/u;
const twoCells =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115F\u2E80-\u303E\u3041-\u33FF\u3400-\u4DBF\u4E00-\uA4CF\uA960-\uA97F\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{1F300}-\u{1F64F}\u{1F900}-\u{1F9FF}\u{20000}-\u{3FFFD}])|\uFE0F/u;

/** How many terminal cells a text takes: 2 for wide East Asian characters and emoji, 0 for marks that join the character before. */
export function displayWidth(text: string): number {
  if (oneCellEach.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += cells(segment);
  return width;
}

/** The text in at most `width` cells, its end replaced by `…` where it is longer. */
export function fitWidth(text: string, width: number): string {
  if (width <= 0) return '';
  if (displayWidth(text) <= width) return text;
  let fitted = '';
  let used = 0;
  for (const { segment } of graphemes.segment(text)) {
    used += cells(segment);
    if (used > width - 1) break;
    fitted += segment;
  }
  return `${fitted}…`;
}

/** The text in exactly `width` cells: filled up with blanks, or cut as `fitWidth` does. */
export function padWidth(text: string, width: number): string {
  const fitted = fitWidth(text, width);
  return fitted + ' '.repeat(Math.max(0, width - displayWidth(fitted)));
}

function cells(grapheme: string): number {
  if (noCell.test(grapheme)) return 0;
  return twoCells.test(grapheme) ? 2 : 1;
}
