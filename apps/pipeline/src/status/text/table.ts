import { bar, displayWidth, fitWidth, padWidth } from './cells.ts';

export type Tone = 'good' | 'wait' | 'bad';

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

/** A line whose end, from `toneFrom` on, can be colored. */
export interface TableLine {
  readonly text: string;
  readonly toneFrom: number;
  readonly tone?: Tone;
}

const gap = 2;
const widestName = 24;
const widestBar = 18;
const narrowestBar = 5;
const narrowestAmount = 10;

/**
 * Arranges rows in columns of at most `width` cells in total. Bars take the remaining cells, and are dropped first on a narrow terminal.
 * `notes`: cells reserved for notes even if there are none, so that bars keep their width when a note appears. `least`: cells that notes
 * keep on a narrow terminal, where numbers are dropped instead.
 */
export function tableLines(rows: readonly TableRow[], width: number, notes: number, least = notes): readonly TableLine[] {
  const names = Math.min(widestName, widest(rows, 'name'));
  const note = Math.min(least, widest(rows, 'note'));
  // On a narrow terminal, notes keep these cells, and numbers are dropped: first the amounts, then the progress.
  const taken = columns(names) + columns(note);
  const widestProgress = widest(rows, 'progress');
  const progress = taken + columns(widestProgress) <= width ? widestProgress : 0;
  const amountRoom = width - taken - columns(progress) - gap;
  const amounts = amountRoom < narrowestAmount ? 0 : Math.min(widest(rows, 'amount'), amountRoom);
  const free = width - columns(names) - columns(progress) - columns(amounts) - columns(notes) - gap;
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

function widest(rows: readonly TableRow[], column: 'name' | 'progress' | 'amount' | 'note'): number {
  return rows.reduce((most, row) => Math.max(most, displayWidth(row[column])), 0);
}

function columns(width: number): number {
  return width === 0 ? 0 : width + gap;
}

function cell(text: string, width: number): string {
  return width === 0 ? '' : ' '.repeat(gap) + padWidth(text, width);
}
