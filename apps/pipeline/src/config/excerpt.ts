import { displayWidth } from '../status/text/cells.ts';
import { inOrder } from './format-problems.ts';
import type { Problem } from './problem.ts';
import { shownVariable } from './variables.ts';

export interface ExcerptOptions {
  readonly text: string;
  readonly isKeyShown: (key: string) => boolean;
  /** Values that may be shown: the length of each by its offset in the text. Default: none. */
  readonly open?: ReadonlyMap<number, number>;
}

/** Maximum characters that are shown of a line. */
const WIDTH = 68;
/** Maximum problems that are listed. The rest are only counted. */
const MOST = 50;
/** Replaces a letter that might be part of a secret. */
const HIDDEN = '\u00b7';

/**
 * Adds an excerpt to each problem with a position: its line, and `^^^` under the place. Words that might be secret become dots. Returns at
 * most `MOST` problems, and one more that counts the rest.
 */
export function withExcerpts(problems: readonly Problem[], { text, isKeyShown, open = new Map() }: ExcerptOptions): Problem[] {
  const lines = linesOf(text);
  const shownLines = new Map<number, string>();
  const shownAt = (line: number, source: string, start: number): string => {
    const found = shownLines.get(line) ?? shownLine(source, start, { isKeyShown, open });
    shownLines.set(line, found);
    return found;
  };
  const first = problems.length > MOST ? problems.toSorted(inOrder).slice(0, MOST) : problems;
  const rest = problems.length - first.length;
  const others: Problem[] = rest === 0 ? [] : [{ key: '', message: `and ${rest} more. Fix these first.` }];
  const excerpts = first.map((problem): Problem => {
    const { line = 0, column = 1, length = 1 } = problem;
    const { start, source } = lines[line - 1] ?? { start: 0, source: '' };
    if (source.trim() === '') return problem;
    const shown = withoutComment(shownAt(line, source, start), column - 1 + length);
    const from = Math.max(0, Math.min(column - 1 - WIDTH / 2, shown.length - WIDTH));
    const before = `${from > 0 ? '…' : ''}${shown.slice(from, column - 1)}`;
    const cut = shown.length > from + WIDTH;
    const meant = shown.slice(column - 1, Math.min(column - 1 + length, from + WIDTH)).trimEnd();
    return {
      ...problem,
      excerpt: [
        `${before}${shown.slice(column - 1, from + WIDTH)}${cut ? '…' : ''}`,
        ' '.repeat(displayWidth(before)) + '^'.repeat(Math.max(1, displayWidth(meant))),
      ],
    };
  });
  return [...excerpts, ...others];
}

function linesOf(text: string): { readonly start: number; readonly source: string }[] {
  let start = 0;
  return text.split('\n').map((line) => {
    const own = { start, source: line.trimEnd() };
    start += line.length + 1;
    return own;
  });
}

/** The line without a comment that follows the marked part. The comment would appear only as dots. */
function withoutComment(line: string, meantTo: number): string {
  const at = line.slice(meantTo).search(/\s#/u);
  return at < 0 ? line : line.slice(0, meantTo + at).trimEnd();
}

/** Replaces the letters of hidden words with dots. The line keeps its length. */
function shownLine(source: string, start: number, { isKeyShown, open }: Required<Pick<ExcerptOptions, 'isKeyShown' | 'open'>>): string {
  const isShown = new Uint8Array(source.length);
  const show = (from: number, length: number): void => void isShown.fill(1, Math.max(0, from), Math.max(0, from + length));
  for (const { index, 0: key } of source.matchAll(/[\w.-]+(?=["']?\s*:(?:\s|$))/g)) if (isKeyShown(key)) show(index, key.length);
  for (const { index, 0: variable, 1: name = '' } of source.matchAll(/\$\{(\w+)\}/g))
    if (shownVariable(name) === variable) show(index, variable.length);
  for (const [offset, length] of open) if (offset >= start && offset < start + source.length) show(offset - start, length);
  return source.replaceAll(/./gsu, (letter, index: number) => {
    if (/\s/u.test(letter)) return ' ';
    return isShown[index] === 1 || /[{}[\]"',:#$\-\u2018-\u201f]/u.test(letter) ? letter : HIDDEN.repeat(letter.length);
  });
}
