import { bar, displayWidth, fitWidth, padWidth } from './cells.ts';

export type Tone = 'good' | 'wait' | 'bad';

/** A row of a table: a name, its progress, numbers, and a note. */
export interface TableRow {
  readonly name: string;
  /** 0 to 1, if known. */
  readonly share?: number;
  readonly progress: string;
  readonly amount: string;
  readonly note: string;
  /** The color of the note. */
  readonly tone?: Tone;
}

/** A line whose end, from `toneFrom` on, may be coloured. */
export interface TableLine {
  readonly text: string;
  readonly toneFrom: number;
  readonly tone?: Tone;
}

const gap = 2;
const widestName = 24;
const widestBar = 18;
const narrowestBar = 5;

/**
 * Lays rows out in columns no wider than `width` cells in total. The bars take the remaining space, and disappear first if it is narrow.
 * `notes`: cells kept free for notes, so that no bar changes with a note; a longer note is cut before all bars disappear.
 */
export function tableLines(rows: readonly TableRow[], width: number, notes: number): readonly TableLine[] {
  const names = Math.min(widestName, widest(rows, 'name'));
  const progress = widest(rows, 'progress');
  const amounts = widest(rows, 'amount');
  const words = columns(names) + columns(progress) + columns(amounts) + columns(notes);
  const free = width - words - gap;
  const bars = rows.some((row) => row.share !== undefined) && free >= narrowestBar ? Math.min(widestBar, free) : 0;

  return rows.map((row) => {
    const before =
      cell(row.name, names) +
      (bars === 0 ? '' : cell(row.share === undefined ? '' : bar(row.share, bars), bars)) +
      cell(row.progress, progress) +
      cell(row.amount, amounts);
    const text = fitWidth(`${before}${' '.repeat(gap)}${row.note}`.trimEnd(), width);
    return { text, toneFrom: Math.min(before.length + gap, text.length), ...(row.tone === undefined ? {} : { tone: row.tone }) };
  });
}

function widest(rows: readonly TableRow[], column: 'name' | 'progress' | 'amount'): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(row[column])), 0);
}

function columns(width: number): number {
  return width === 0 ? 0 : width + gap;
}

function cell(text: string, width: number): string {
  return width === 0 ? '' : ' '.repeat(gap) + padWidth(text, width);
}
