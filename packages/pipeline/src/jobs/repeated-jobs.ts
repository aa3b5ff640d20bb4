import { type JobRecord, jobRecord } from '../topics/job.ts';
import { jobIdentity } from '../topics/job-identity.ts';
import type { JobsInOrderOptions } from './jobs-in-order.ts';

/** Finds jobs with `once` that repeat an earlier one. */
export interface RepeatedJobs {
  /**
   * Returns true if a job is repeated. Call it for each job, in the order of offsets. It can read earlier offsets of the topic
   * again.
   */
  has(record: JobRecord): Promise<boolean>;
  /** Frees the memory for jobs before this offset. If later calls need those jobs, they read the topic again. */
  forget(before: number): void;
}

/**
 * A job with `once` is repeated if an equal one, which isn't repeated itself, lies between the root of the job's family and the
 * job. This depends only on the topic, so every holder of the lane gets the same result without an entry in the lane's state.
 */
export function repeatedJobs({ log, topic, partition, from: next, signal }: Omit<JobsInOrderOptions, 'resumed'>): RepeatedJobs {
  /** The newest offset of each job that isn't repeated, by the identity of the job. */
  const made = new Map<string, number>();
  /** The first offset that `made` covers. */
  let from = next;

  const note = ({ offset, value }: JobRecord, root: number): boolean => {
    const identity = identityOf(value);
    if (identity === undefined) return false;
    const before = made.get(identity);
    if (before !== undefined && before >= root) return true;
    made.set(identity, offset);
    return false;
  };

  /**
   * Fills `made` with the jobs from `root` to before `end`. If one of them belongs to an older family, starts again at the root of that
   * family: earlier jobs of that family decide whether the job is repeated.
   */
  const readFrom = async (root: number, end: number): Promise<void> => {
    let oldest = root;
    do {
      from = oldest;
      made.clear();
      for await (const record of log.readBytes({ topic, partitions: [partition], from, signal })) {
        if (record.offset >= end) break;
        const request = jobRecord(record);
        if (request.root === undefined) continue;
        oldest = Math.min(oldest, request.root);
        note(request, request.root);
      }
    } while (oldest < from);
  };

  return {
    async has(record) {
      const { root, offset } = record;
      if (root === undefined) return false;
      if (root < from) await readFrom(root, offset);
      return note(record, root);
    },
    forget(before) {
      made.clear();
      from = before;
    },
  };
}

/**
 * The identity of a job, in which a number equals its text: services write the same ID in both ways. Undefined for a value that isn't JSON.
 * Such a job becomes a dead letter.
 */
function identityOf(value: string | null): string | undefined {
  try {
    return value === null ? undefined : jobIdentity(JSON.parse(value, numbersAsText), value);
  } catch {
    return undefined;
  }
}

function numbersAsText(_: string, part: unknown): unknown {
  return typeof part === 'number' ? String(part) : part;
}
