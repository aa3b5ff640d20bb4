import type { ReadOptions, TopicRecord } from '@headgate/topics';

/** A wish as its topic has it, or as the state of a lane has kept it. */
export type WishRecord = Pick<TopicRecord, 'offset' | 'key' | 'value' | 'unreadable'>;

export interface WishesInOrderOptions {
  readonly log: { read(options: ReadOptions): AsyncIterable<TopicRecord> };
  /** Of the requests topic. */
  readonly topic: string;
  readonly partition: number;
  /** The first offset. */
  readonly from: number;
  /** Wishes that were begun, in any order: those that the topic no longer holds come all the same. */
  readonly begun: readonly WishRecord[];
  readonly signal?: AbortSignal;
}

/** The wishes of a lane in the order of their offsets, each once, to the end of the topic as it is now. */
export async function* wishesInOrder({
  log,
  topic,
  partition,
  from,
  begun,
  signal,
}: WishesInOrderOptions): AsyncGenerator<WishRecord, void, void> {
  const rest = begun.filter(({ offset }) => offset >= from).toSorted((one, other) => one.offset - other.offset);
  const before = (end: number): WishRecord[] => {
    const after = rest.findIndex(({ offset }) => offset >= end);
    return rest.splice(0, after === -1 ? rest.length : after);
  };
  const read = { topic, partitions: [partition], from, unreadable: 'mark', ...(signal !== undefined && { signal }) } as const;
  for await (const wish of log.read(read)) {
    yield* before(wish.offset);
    if (rest[0]?.offset === wish.offset) rest.shift();
    yield wish;
  }
  // A reading that was cut short does not say what the topic no longer holds.
  if (signal?.aborted !== true) yield* rest;
}
