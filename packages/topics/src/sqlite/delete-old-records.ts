import type { WorkerLink } from './worker-link.ts';

/** Pause between two searches for old records. */
const LOOK_MS = 60_000;
/** Pause between two steps of a deletion, in which writers of this and other processes get their turn. */
const STEP_MS = 50;

/** How long records are kept. Offsets don't change. A reader at a deleted offset continues at the first remaining record. */
export interface SqliteRetention {
  /** Age at which records are deleted, except in compacted topics, milliseconds. */
  readonly maxAgeMs: number;
  /** Returns true for a topic whose records are never deleted. Default: only the compacted ones. */
  readonly keep?: (topic: string) => boolean;
}

/** Deletes old records in the background, some rows per transaction. The file reuses their space. Returns a function that stops it. */
export function deleteOldRecords(link: WorkerLink, retention: SqliteRetention, now: () => number): () => void {
  const { maxAgeMs, keep = () => false } = retention;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const step = async (): Promise<boolean> => {
    const beforeMs = now() - maxAgeMs;
    let isMore = false;
    for (const { name, compacted } of await link.call('listTopics')) {
      if (compacted || isStopped || keep(name)) continue;
      isMore = (await link.call('deleteOld', name, beforeMs)) || isMore;
    }
    return isMore;
  };
  const deleteDue = async (): Promise<void> => {
    // Ignore an error: writers report a log that can't be written, and deleting can wait.
    const isMore = await step().catch(() => false);
    if (!isStopped) deleteAfter(isMore ? STEP_MS : LOOK_MS);
  };
  const deleteAfter = (ms: number): void => {
    timer = setTimeout(() => void deleteDue(), ms);
    timer.unref();
  };
  deleteAfter(STEP_MS);
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}
