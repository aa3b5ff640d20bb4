import { styleText } from 'node:util';
import { createLogUpdate } from 'log-update';
import { eventText } from './format-event.ts';
import { logLines } from './format-outage.ts';
import { firstRows } from './format-row.ts';
import type { CommandFor } from './open-dead-letters.ts';
import { every, type RunView } from './run-view.ts';
import { type Note, type Screen, screenOf } from './screen.ts';
import { displayWidth, fitWidth, padWidth } from './text/cells.ts';
import { countWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import { type TableLine, tableLines } from './text/table.ts';
import { wrappedLine } from './text/wrapped-line.ts';
import { createTimeWords, type TimeWords } from './text/time-words.ts';
import type { Reporter, ReporterOptions } from './reporter.ts';

const REDRAW_MS = 200;

/**
 * A display that is redrawn in place: up to 5 times a second during events, otherwise once a second. Important events, such as dead letters
 * and notices, scroll above it and stay. The cursor stays visible, so that a killed process leaves the terminal usable.
 */
export function createLiveDisplay(options: Omit<ReporterOptions, 'json' | 'live'>): Reporter {
  const { stderr, clock, view, color, header, commandFor, units } = options;
  const times = createTimeWords(options);
  const logLine = logLines({ clock });
  const draw = createLogUpdate(stderr, { showCursor: true });
  /** Permanent lines, written with the next redraw, so that thousands of failures a second don't cause thousands of redraws. */
  let staying: string[] = [];
  let hasNews = false;
  let drawnSecond = NaN;

  const redraw = (): void => {
    const second = Math.floor(clock.epochMs() / 1_000);
    if (!hasNews && second === drawnSecond) return;
    hasNews = false;
    drawnSecond = second;
    writeStaying();
    // One column and one row stay free, because a terminal wraps or scrolls when text reaches its last one.
    const columns = Math.max(1, (stderr.columns ?? 80) - 1);
    const rows = Math.max(1, (stderr.rows ?? 24) - 1);
    draw(liveFrame({ header, view: view(), columns, rows, color, times, commandFor }).join('\n'));
  };
  const writeStaying = (): void => {
    const columns = stderr.columns ?? 80;
    if (staying.length > 0) draw.persist(staying.flatMap((line) => wrappedLine(line, columns)).join('\n'));
    staying = [];
  };
  redraw();
  const stop = every(clock, REDRAW_MS, redraw);

  return {
    event(event) {
      hasNews = true;
      const isLog = event.type === 'log-unavailable' || event.type === 'log-available';
      const text = eventText(event, units);
      const line = isLog ? logLine(event) : text.isKept ? text.words : undefined;
      if (line !== undefined && text.isKept) staying.push(`${times.time(clock.epochMs())} ${line}`);
    },
    close() {
      stop();
      writeStaying();
      draw.clear();
      draw.done();
    },
  };
}

export interface LiveFrameOptions {
  readonly header: string;
  readonly view: RunView;
  /** Maximum cells of a line. */
  readonly columns: number;
  /** Maximum lines of the frame. */
  readonly rows: number;
  readonly color: boolean;
  readonly times: TimeWords;
  readonly commandFor: CommandFor;
}

/** Cells reserved for the note of a job, such as `waits for budget until 11:15:00`. */
const WORK_NOTE = 32;
const BUDGET_NOTE = 46;
/** Cells of `next at 11:15:00`, which a budget's row shows even on a narrow terminal. */
const NEXT_NOTE = 16;
/** Minimum rows for blank lines between the parts of a frame, and for progress that takes more than one line. */
const ROOMY_ROWS = 16;

/** One frame of the display: the jobs, the budgets, and the reasons why nothing happens. */
export function liveFrame({ header, view, columns, rows, color, times, commandFor }: LiveFrameOptions): readonly string[] {
  const screen = screenOf(view, { times, commandFor, jobs: { text: '', state: 'all', most: rows } });
  const { progress, faults, notes: reasons } = screen;
  const budgets = shorten(
    tableLines(
      screen.budgets.map((row) => ({
        ...row,
        note: [row.note, row.tone === undefined ? row.why : `<- ${row.why}`].filter(Boolean).join('  '),
      })),
      columns,
      BUDGET_NOTE,
      NEXT_NOTE,
    ),
    Math.max(2, Math.floor(rows / 4)),
  );
  const deadLetters = screen.deadLetterLines.map((words) => ({ words, tone: 'bad' as const }));
  const notes = noteLines([...faults, ...reasons, ...deadLetters], columns, Math.floor(rows / 3));
  const spaced = rows >= ROOMY_ROWS ? 1 : 0;
  const line = `  ${progress.words}`;
  const ofProgress = progress.words === '' ? [] : spaced === 1 ? wrappedLine(line, columns) : [line];
  const top = [headerLine(header, screen, columns), ...ofProgress.map(plain)];
  const fixed = [budgets, notes].reduce((sum, block) => sum + (block.length > 0 ? spaced + block.length : 0), top.length);
  const jobs = firstRows(screen.jobs, Math.max(1, rows - fixed - spaced));
  const lines = [...tableLines(jobs.rows, columns, WORK_NOTE), ...(jobs.rest === '' ? [] : [plain(`  ${jobs.rest}`)])];
  return [top, lines, budgets, notes]
    .filter((block) => block.length > 0)
    .flatMap((block, index) => (index === 0 || spaced === 0 ? block : [plain(''), ...block]))
    .slice(0, rows)
    .map((line) => colored({ ...line, text: fitWidth(line.text, columns) }, color));
}

function headerLine(header: string, { elapsed, lanes }: Screen, columns: number): TableLine {
  const room = columns - displayWidth(elapsed) - 2;
  if (room < 10) return plain(fitWidth(elapsed, columns));
  // If both don't fit, the header is cut, because it never changes, while the lanes do.
  const name = safeText(header, 1000);
  const text = lanes === '' ? name : `${fitWidth(name, room - displayWidth(lanes) - 3)}   ${lanes}`.trimStart();
  return plain(`${padWidth(text, room)}  ${elapsed}`);
}

/** The notes, each on as many lines as it needs. If that takes more than `most` lines in total, each note is cut to one line. */
function noteLines(notes: readonly Note[], columns: number, most: number): readonly TableLine[] {
  const whole = notes.map(({ words, tone }) => ({ texts: wrappedLine(`  ${words}`, columns), tone }));
  const isRoomy = whole.reduce((sum, { texts }) => sum + texts.length, 0) <= most;
  const shown = isRoomy ? whole : notes.map(({ words, tone }) => ({ texts: [fitWidth(`  ${words}`, columns)], tone }));
  return shown.flatMap(({ texts, tone }) => texts.map((text) => ({ text, toneFrom: 2, ...(tone !== undefined && { tone }) })));
}

/** The lines if they fit. Otherwise those of budgets that block work come first, and the last line counts the rest. */
function shorten(lines: readonly TableLine[], most: number): readonly TableLine[] {
  if (lines.length <= most) return lines;
  const sorted = lines.toSorted((one, other) => Number(one.tone === undefined) - Number(other.tone === undefined));
  return [...sorted.slice(0, most - 1), plain(`  and ${countWords(lines.length - most + 1, 'more budget')}`)];
}

function plain(text: string): TableLine {
  return { text, toneFrom: text.length };
}

function colored(line: TableLine, color: boolean): string {
  const end = line.text.slice(line.toneFrom);
  if (!color || line.tone === undefined || end === '') return line.text;
  const colors = { good: 'green', wait: 'yellow', bad: 'red' } as const;
  return line.text.slice(0, line.toneFrom) + styleText(colors[line.tone], end, { validateStream: false });
}
