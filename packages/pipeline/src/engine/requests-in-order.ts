import type { StateOfLane } from './processor.ts';
import { resumedLookups } from '../lookup/lookup-requests.ts';
import { resumedWalks } from '../walk/walk-state.ts';
import type { ReadOptions, TopicRecord } from '@headgate/topics';
import { type RequestRecord, requestRecord } from '../definition/request.ts';

export interface RequestsInOrderOptions {
  readonly log: { readBytes(options: ReadOptions): AsyncIterable<TopicRecord<Uint8Array>> };
  /** The requests topic. */
  readonly topic: string;
  readonly partition: number;
  /** The first offset. */
  readonly from: number;
  /** Unfinished requests, in any order: they are included even if the topic no longer has them. */
  readonly resumed: readonly RequestRecord[];
  readonly signal?: AbortSignal | undefined;
}

/** The requests of a lane in the order of their offsets, each once, up to the current end of the topic. */
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
  // A reading that was cut short doesn't tell what the topic no longer contains.
  if (signal?.aborted !== true) yield* rest;
}

/** The unfinished requests in a lane's state, whatever kind of work started them. Their topic may no longer have them. */
export function resumedRequests(state: StateOfLane): readonly RequestRecord[] {
  const byOffset = new Map([...resumedLookups(state), ...resumedWalks(state)].map((record) => [record.offset, record]));
  return [...byOffset.values()];
}
