import type { ReadOptions, TopicRecord } from '@headgate/topics';
import { type LaneState, STATE_KEYS } from '../lane/lane-state.ts';
import { OffsetRanges, type OffsetRangesSnapshot } from '../lane/offset-ranges.ts';
import { type RequestRecord, requestRecord } from '../topics/request.ts';
import { resumedWalks } from './walk-state.ts';

/** Reads the unfinished jobs of a lane that another process may hold. `state`: the lane's state. */
export async function* unfinishedJobs(
  log: RequestsInOrderOptions['log'],
  topic: string,
  partition: number,
  state: LaneState,
  signal?: AbortSignal,
): AsyncGenerator<RequestRecord, void, void> {
  const finished = new OffsetRanges(state.get(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined);
  const resumed = resumedWalks(state.under);
  for await (const record of requestsInOrder({ log, topic, partition, from: finished.next, resumed, signal }))
    if (!finished.has(record.offset)) yield record;
}

export interface RequestsInOrderOptions {
  readonly log: { readBytes(options: ReadOptions): AsyncIterable<TopicRecord<Uint8Array>> };
  readonly topic: string;
  readonly partition: number;
  readonly from: number;
  /** Unfinished requests of the lane's state, in any order. Requests from `from` on are included even if the topic no longer has them. */
  readonly resumed: readonly RequestRecord[];
  readonly signal?: AbortSignal | undefined;
}

/** Reads the requests of a lane in the order of their offsets, each once, up to the current end of the topic. */
export async function* requestsInOrder({
  log,
  topic,
  partition,
  from,
  resumed,
  signal,
}: RequestsInOrderOptions): AsyncGenerator<RequestRecord, void, void> {
  const rest = resumed.filter(({ offset }) => offset >= from).toSorted((one, other) => one.offset - other.offset);
  const before = (end: number): RequestRecord[] => {
    const after = rest.findIndex(({ offset }) => offset >= end);
    return rest.splice(0, after === -1 ? rest.length : after);
  };
  const read = { topic, partitions: [partition], from, signal } as const;
  for await (const record of log.readBytes(read)) {
    yield* before(record.offset);
    if (rest[0]?.offset === record.offset) rest.shift();
    yield requestRecord(record);
  }
  // An aborted read doesn't show which requests the topic no longer has.
  if (signal?.aborted !== true) yield* rest;
}
