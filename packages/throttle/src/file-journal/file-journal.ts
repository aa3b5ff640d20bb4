import { type FileHandle, mkdir, open, readFile, rename } from 'node:fs/promises';
import { dirname } from 'node:path';
import { type Clock, systemClock } from '../clock.ts';
import type { BudgetSnapshot, Journal } from '../journal.ts';
import { agedSnapshots } from '../aged-snapshots.ts';

export interface FileJournalOptions {
  /** Made where it isn't there, with its folder. One process at a time may have it open. */
  readonly file: string;
  /** Default: the machine's clock. */
  readonly clock?: Clock;
}

/** A journal in a file, for those who have no topic log to keep it in. */
export interface FileJournal extends Journal, AsyncDisposable {
  /** Writes what was settled since the last grant, and closes the file. */
  close(): Promise<void>;
}

export class FileJournalError extends Error {
  override readonly name = 'FileJournalError';
  readonly code = 'HEADGATE_FILE_JOURNAL';
  readonly retryable = false;
}

interface Line {
  readonly credential: string;
  /** Epoch ms. */
  readonly at: number;
  readonly budgets: readonly BudgetSnapshot[];
}

/** Above this the file is written anew with each credential's newest line. */
const REWRITE_BYTES = 1024 * 1024;
const SHORTEST_LEASE_MS = 1_000;

/**
 * Opens a journal in a file: a line of JSON per grant, synced before the grant is used.
 * Throws a `FileJournalError` where the file can't be read or written.
 */
export async function fileJournal({ file, clock = systemClock() }: FileJournalOptions): Promise<FileJournal> {
  const saved = await readLines(file);
  let handle = await rewritten(file, saved);
  let bytes = 0;
  let slowestMs = 0;
  const snapshots = new Map<string, () => readonly BudgetSnapshot[]>();
  const changed = new Set<string>();
  let next: Promise<void> | undefined;
  let last: Promise<void> = Promise.resolve();

  const write = async (): Promise<void> => {
    const startedMs = clock.monotonicMs();
    const at = clock.epochMs();
    let text = '';
    for (const credential of changed) {
      const line: Line = { credential, at, budgets: snapshots.get(credential)?.() ?? [] };
      saved.set(credential, line);
      text += `${JSON.stringify(line)}\n`;
    }
    changed.clear();
    try {
      await handle.appendFile(text);
      await handle.datasync();
      bytes += text.length;
      if (bytes > REWRITE_BYTES) {
        await handle.close();
        handle = await rewritten(file, saved);
        bytes = 0;
      }
    } catch (error) {
      throw unusable(file, error);
    }
    slowestMs = Math.max(slowestMs * 0.9, clock.monotonicMs() - startedMs);
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

  const close = async (): Promise<void> => {
    if (changed.size > 0) await written();
    await last;
    await handle.close();
  };
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
        restored: line === undefined ? undefined : agedSnapshots(line.budgets, clock.epochMs() - line.at),
        granted,
        settled: () => void changed.add(credential),
        // Where it can't be written the next grant can't, and says so.
        learned: () => void granted().catch(() => undefined),
      };
    },
    close,
    [Symbol.asyncDispose]: close,
  };
}

async function readLines(file: string): Promise<Map<string, Line>> {
  const lines = new Map<string, Line>();
  let text: string;
  try {
    text = await readFile(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return lines;
    throw unusable(file, error);
  }
  const all = text.split('\n');
  for (const [i, one] of all.entries()) {
    if (one === '') continue;
    try {
      const line = JSON.parse(one) as Line;
      lines.set(line.credential, line);
    } catch (cause) {
      // The last line was being written when the process died: its grant was never used.
      if (i < all.length - 1)
        throw new FileJournalError(`${file}:${i + 1} is no line of a journal. Move the file away and wait one window.`, { cause });
    }
  }
  return lines;
}

async function rewritten(file: string, lines: ReadonlyMap<string, Line>): Promise<FileHandle> {
  try {
    await mkdir(dirname(file), { recursive: true });
    const fresh = await open(`${file}.new`, 'w');
    await fresh.appendFile([...lines.values()].map((line) => `${JSON.stringify(line)}\n`).join(''));
    await fresh.datasync();
    await rename(`${file}.new`, file);
    return fresh;
  } catch (error) {
    throw unusable(file, error);
  }
}

function unusable(file: string, cause: unknown): FileJournalError {
  if (cause instanceof FileJournalError) return cause;
  return new FileJournalError(
    `The journal ${file} can not be read or written (${(cause as NodeJS.ErrnoException).code}). No request is sent without it.`,
    { cause },
  );
}
