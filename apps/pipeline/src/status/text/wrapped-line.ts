import { displayWidth } from './cells.ts';

/**
 * Splits a line between words into pieces of at most `width` cells. A longer word stays whole. Later pieces are indented to the last table
 * column that begins in the first half of the width; if there is none, by two cells more than the line.
 */
export function wrappedLine(line: string, width: number): readonly string[] {
  if (displayWidth(line) <= width) return [line];
  const indent = ' '.repeat(columnIn(line, width));
  const pieces: string[] = [];
  let piece = '';
  for (const [, gap = '', word = ''] of line.matchAll(/( *)([^ ]+)/gu)) {
    if (piece.trim() !== '' && displayWidth(piece + gap + word) > width) {
      pieces.push(piece);
      piece = indent + word;
    } else piece += gap + word;
  }
  return [...pieces, piece];
}

function columnIn(line: string, width: number): number {
  const starts = Array.from(line.matchAll(/ {2,}(?=[^ ])/gu), ({ index, 0: gap }) => index + gap.length);
  const columns = starts.filter((start) => start <= width / 2 && line.slice(0, start).trim() !== '');
  return columns.at(-1) ?? line.search(/[^ ]|$/u) + 2;
}
