import { DEAD_LETTERS, type DeadLetterOptions, HELD, deadLetter, reasonOf } from '../topics/dead-letter.ts';
import type { NewRecord } from '@headgate/topics';
import { jobContent } from '../topics/job.ts';
import type { TopicMap } from '../topics/topic.ts';
import { jobError } from '../topics/user-function.ts';
import type { Job, WorkContext } from '../definition/processor.ts';
import type { JobEvent } from '../events/events.ts';
import { restNote, rowOf } from './walk-state.ts';

/** A dead letter, and the event to emit when it is durable. */
export interface PendingDeadLetter {
  readonly record: NewRecord;
  readonly event: JobEvent;
}

export interface PendingDeadLetterOptions extends Pick<DeadLetterOptions, 'key' | 'id' | 'content' | 'error' | 'resume'> {
  /** Mark of a held part: see `HELD`. Default: the part isn't held. */
  readonly held?: string | undefined;
  /** The walk that the dead letter belongs to, for traces. */
  readonly work?: object;
}

type Context = Pick<WorkContext<never, TopicMap>, 'pipeline' | 'lane' | 'names' | 'clock' | 'emit'> &
  Partial<Pick<WorkContext<never, TopicMap>, 'tracing'>>;

export function pendingDeadLetter(
  { pipeline, lane, names, clock, tracing }: Context,
  options: PendingDeadLetterOptions,
): PendingDeadLetter {
  const { key, error, held, work } = options;
  const topic = names(`${pipeline}.${DEAD_LETTERS}`);
  const { partition } = lane;
  const headers = { ...(work && tracing?.headers(work)), ...(held !== undefined && { [HELD]: held }) };
  return {
    record: deadLetter({ ...options, pipeline, topic, partition, at: clock.epochMs(), headers, tooLarge: lane.tooLarge }),
    event: { type: 'dead-letter', pipeline, topic, key, error: reasonOf(error) },
  };
}

/** Returns the ID of the job at an offset. It is deterministic, and unique on the log. */
export function jobId({ topic, partition }: { readonly topic: string; readonly partition: number }, offset: number): string {
  return `${topic}-${partition}-${offset}`;
}

/**
 * Writes a dead letter for a job that can't be processed, and marks the job as finished. The dead letter keeps the progress of an
 * earlier run.
 */
export async function refuse(context: Context, job: Job, error: unknown): Promise<void> {
  const { record } = job;
  const { offset } = record;
  const id = jobId(context.lane, offset);
  const key = record.key || id;
  const row = rowOf(job);
  const resume = row === undefined ? record.resume : JSON.stringify(row.after === undefined ? restNote(row) : { after: row.after });
  const dead = pendingDeadLetter(context, { key, id, content: jobContent(record), error: jobError(error, key), resume });
  await context.lane.commit({ records: [dead.record], finished: [offset] });
  context.emit(dead.event);
}
