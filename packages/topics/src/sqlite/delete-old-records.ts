import type { WorkerLink } from './worker-link.ts';

/** Time between two searches for old records. */
const LOOK_MS = 60_000;
/** Pause between two steps of a deletion, in which writers of this process and others get their turn. */
const STEP_MS = 50;

/** How long records are kept. Offsets don't change: a reader at a deleted offset starts with the first record that exists. */
export interface SqliteRetention {
  /** Records older than this are deleted, milliseconds; those of compacted topics never. */
  readonly maxAgeMs: number;
  /** Topics of which a record is deleted only after some group has committed past it. Default: none. */
  readonly untilCommitted?: (topic: string) => boolean;
}

export interface DeleteOldRecordsOptions {
  readonly link: WorkerLink;
  readonly retention: SqliteRetention;
  readonly now: () => number;
}

/** Deletes old records in steps of some rows, each a transaction. Space in the file that becomes free is used again. */
export function deleteOldRecords({ link, retention, now }: DeleteOldRecordsOptions): { stop(): void } {
  const { maxAgeMs, untilCommitted = () => false } = retention;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;

  const step = async (): Promise<boolean> => {
    const beforeMs = now() - maxAgeMs;
    let isMore = false;
    for (const { name, compacted } of await link.call('list-topics', null)) {
      if (compacted || isStopped) continue;
      isMore = (await link.call('delete-old', { topic: name, beforeMs, untilCommitted: untilCommitted(name) })) || isMore;
    }
    return isMore;
  };
  const deleteDue = async (): Promise<void> => {
    // Writers report a log that can't be written now; deleting can wait.
    const isMore = await step().catch(() => false);
    if (!isStopped) deleteAfter(isMore ? STEP_MS : LOOK_MS);
  };
  const deleteAfter = (ms: number): void => {
    timer = setTimeout(() => void deleteDue(), ms);
    timer.unref();
  };
  deleteAfter(STEP_MS);
  return {
    stop() {
      isStopped = true;
      clearTimeout(timer);
    },
  };
}
