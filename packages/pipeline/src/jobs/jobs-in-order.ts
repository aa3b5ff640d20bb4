import type { ReadOptions, TopicRecord } from '@headgate/topics';
import { type LaneState, STATE_KEYS } from '../lane/lane-state.ts';
import { OffsetRanges, type OffsetRangesSnapshot } from '../lane/offset-ranges.ts';
import { type JobRecord, jobRecord } from '../topics/job.ts';
import { resumedWalks } from './walk-state.ts';

/** Reads the unfinished jobs of a lane that another process may hold. `state`: the lane's state. */
export async function* unfinishedJobs(
  log: JobsInOrderOptions['log'],
  topic: string,
  partition: number,
  state: LaneState,
  signal?: AbortSignal,
): AsyncGenerator<JobRecord, void, void> {
  const finished = new OffsetRanges(state.get(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined);
  const resumed = resumedWalks(state.under);
  for await (const record of jobsInOrder({ log, topic, partition, from: finished.next, resumed, signal }))
    if (!finished.has(record.offset)) yield record;
}

export interface JobsInOrderOptions {
  readonly log: { readBytes(options: ReadOptions): AsyncIterable<TopicRecord<Uint8Array>> };
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  /** Unfinished jobs of the lane's state, in any order. Jobs from `from` on are included even if the topic no longer has them. */
  readonly resumed: readonly JobRecord[];
  readonly signal?: AbortSignal | undefined;
}

/** Reads the jobs of a lane in the order of their offsets, each once, up to the current end of the topic. */
export async function* jobsInOrder({
  log,
  topic,
  partition,
  from,
  resumed,
  signal,
}: JobsInOrderOptions): AsyncGenerator<JobRecord, void, void> {
  const rest = resumed.filter(({ offset }) => offset >= from).toSorted((one, other) => one.offset - other.offset);
  const before = (end: number): JobRecord[] => {
    const after = rest.findIndex(({ offset }) => offset >= end);
    return rest.splice(0, after === -1 ? rest.length : after);
  };
  const read = { topic, partitions: [partition], from, signal } as const;
  for await (const record of log.readBytes(read)) {
    yield* before(record.offset);
    if (rest[0]?.offset === record.offset) rest.shift();
    yield jobRecord(record);
  }
  // An aborted read doesn't show which jobs the topic no longer has.
  if (signal?.aborted !== true) yield* rest;
}
