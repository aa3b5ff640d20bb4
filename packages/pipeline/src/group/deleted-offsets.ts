import type { TopicLog } from '@headgate/topics';
import type { Lane } from '../lane/lane.ts';

/** Offsets that a log has deleted before they were read. */
export interface DeletedOffsets {
  /** Of requests, or of end markers of transactions: the log no longer says which. */
  readonly count: number;
  /** The first offset behind them. */
  readonly before: number;
}

/**
 * Offsets of a lane's requests topic that the log has deleted before the lane has read them; undefined if there are none.
 * `kept`: offsets of requests that the lane's state holds.
 */
export async function deletedOffsets(
  log: Pick<TopicLog, 'listTopics'>,
  lane: DeletingLane,
  kept: ReadonlySet<number>,
): Promise<DeletedOffsets | undefined> {
  // A lane that begins has missed nothing of its own.
  if (!lane.hasState) return undefined;
  const [topic] = await log.listTopics([lane.topic]);
  const earliest = topic?.offsets[lane.partition]?.earliest ?? 0;
  let count = 0;
  for (let offset = lane.next; offset < earliest; offset += 1) if (!lane.isFinished(offset) && !kept.has(offset)) count += 1;
  return count === 0 ? undefined : { count, before: earliest };
}

type DeletingLane = Pick<Lane, 'topic' | 'partition' | 'next' | 'hasState' | 'isFinished'>;
