import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { type Clock, systemClock } from '../../clock.ts';
import type { BudgetSnapshot, Journal } from '../journal.ts';
import { agedSnapshots, stampedSnapshots } from '../aged-snapshots.ts';
import { JournalFile, makeFolder } from './journal-file.ts';
import { type JournalLock, takeJournalLock } from './journal-lock.ts';

/** Options of {@link fileJournal}. */
export interface FileJournalOptions {
  /**
   * Path of the journal. If it is missing, it is created with its folder, for its owner only. One journal at a time may open it; its lock
   * is `<file>.lock`.
   */
  readonly file: string;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** A journal in a file, for those who have no topic log to keep it in. */
export interface FileJournal extends Journal, AsyncDisposable {
  /** Writes what was settled since the last grant, and closes the file. */
  close(): Promise<void>;
}

/** The journal's file can't be read, written or locked. The message names the file and what to do. */
export class FileJournalError extends Error {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'FileJournalError';
  /** Identifies the error where `instanceof` can't: in a program with two copies of this package. */
  readonly code = 'HEADGATE_FILE_JOURNAL';
  /** False: a damaged line, a full disk or another holder of the file stays until it is dealt with. */
  readonly retryable = false;
}

interface Line {
  readonly credential: string;
  /** Epoch ms. */
  readonly at: number;
  readonly budgets: readonly BudgetSnapshot[];
}

/** Bytes of lines after which the file is rewritten with each credential's newest line. */
const REWRITE_BYTES = 1024 * 1024;
const SHORTEST_LEASE_MS = 1_000;

/**
 * Opens a journal in a file: one line of JSON per grant, synced before the grant is used. Throws a `FileJournalError` if the file can't be
 * read or written, or if this process or another one has it open.
 */
export async function fileJournal(options: FileJournalOptions): Promise<FileJournal> {
  const { clock = systemClock() } = options;
  const file = resolve(options.file);
  const lock = await locked(file);
  let saved: Map<string, Line>;
  let journal: JournalFile;
  try {
    saved = await readLines(file);
    journal = await JournalFile.replace(file, textOf(saved.values()));
  } catch (error) {
    lock.release();
    throw unusable(file, error);
  }
  let appendedBytes = 0;
  let slowestMs = 0;
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const at = clock.epochMs();
    const lines = [...changed].map((credential): Line => ({
      credential,
      at,
      budgets: stampedSnapshots(snapshots.get(credential)?.() ?? [], clock),
    }));
    changed.clear();
    const text = textOf(lines);
    try {
      await journal.append(text);
    } catch (error) {
      // The next write includes them; otherwise settled and learned state would be missing.
      for (const { credential } of lines) changed.add(credential);
      throw unusable(file, error);
    }
    for (const line of lines) saved.set(line.credential, line);
    appendedBytes += text.length;
    if (appendedBytes > REWRITE_BYTES) await rewrite();
    slowestMs = Math.max(slowestMs * 0.9, clock.monotonicMs() - startedMs);
  };
  const rewrite = async (): Promise<void> => {
    try {
      await journal.replace(textOf(saved.values()));
      appendedBytes = 0;
    } catch {
      // The lines are durable anyway, and the next write retries the rewrite.
    }
  };
  /** One write at a time; what comes in the meantime shares the next. */
  const written = (): Promise<void> => {
    if (next === undefined) {
      const turn = last.then(() => {
        next = undefined;
        return write();
      });
      next = turn;
      last = turn.catch(() => undefined);
    }
    return next;
  };

  const end = async (): Promise<void> => {
    try {
      if (changed.size > 0) await written();
      await last;
    } finally {
      await journal.close();
      lock.release();
    }
  };
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= end());
  return {
    get leaseMs() {
      return Math.max(SHORTEST_LEASE_MS, 4 * slowestMs);
    },
    open(credential, snapshot) {
      snapshots.set(credential, snapshot);
      const line = saved.get(credential);
      const granted = (): Promise<void> => {
        changed.add(credential);
        return written();
      };
      return {
        restored: line === undefined ? undefined : agedSnapshots(line.budgets, clock.epochMs() - line.at, clock.boot?.()),
        granted,
        settled: () => void changed.add(credential),
        // If this fails, so does the next grant, which reports it.
        learned: () => void granted().catch(() => undefined),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function locked(file: string): Promise<JournalLock> {
  let lock: JournalLock | undefined;
  try {
    await makeFolder(file);
    lock = await takeJournalLock(file);
  } catch (error) {
    throw unusable(file, error);
  }
  if (lock !== undefined) return lock;
  throw new FileJournalError(
    `The journal ${file} is already open, in this process or another one. Two writers would exceed each other's budgets. ` +
      'Stop one of them, or give each its own credentials and journal.',
  );
}

async function readLines(file: string): Promise<Map<string, Line>> {
  const lines = new Map<string, Line>();
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return lines;
    throw error;
  }
  const all = text.split('\n');
  for (const [i, one] of all.entries()) {
    const line = parsedLine(one);
    if (line !== undefined) lines.set(line.credential, line);
    // The last line is empty, or was being written when the process died: its grant was never used.
    else if (i < all.length - 1)
      throw new FileJournalError(`${file}:${i + 1} isn't a line of a journal. Move the file away and wait one window.`);
  }
  return lines;
}

function parsedLine(text: string): Line | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return isLine(line) ? line : undefined;
  } catch {
    return undefined;
  }
}

function isLine(line: unknown): line is Line {
  if (typeof line !== 'object' || line === null) return false;
  const { credential, at, budgets } = line as Partial<Record<keyof Line, unknown>>;
  return typeof credential === 'string' && typeof at === 'number' && Array.isArray(budgets);
}

function textOf(lines: Iterable<Line>): string {
  return Array.from(lines, (line) => `${JSON.stringify(line)}\n`).join('');
}

function unusable(file: string, cause: unknown): FileJournalError {
  if (cause instanceof FileJournalError) return cause;
  const { code, message } = cause as NodeJS.ErrnoException;
  return new FileJournalError(`The journal ${file} can't be read or written (${code ?? message}). No request is sent without it.`, {
    cause,
  });
}
