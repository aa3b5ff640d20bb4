import type { TopicLog } from '@headgate/topics';
import type { Lane } from '../lane/lane.ts';

/**
 * How many offsets of a lane's requests topic the log has deleted before the lane has read them. Some may be end markers of transactions: which ones
 * were requests, nobody can tell any more. `kept`: offsets of requests that the lane's state holds.
 */
export async function deletedOffsets(log: Pick<TopicLog, 'listTopics'>, lane: DeletingLane, kept: ReadonlySet<number>): Promise<number> {
  // A lane that begins has missed nothing of its own.
  if (!lane.hasState) return 0;
  const [topic] = await log.listTopics([lane.topic]);
  const earliest = topic?.offsets[lane.partition]?.earliest ?? 0;
  let deleted = 0;
  for (let offset = lane.next; offset < earliest; offset += 1) if (!lane.isFinished(offset) && !kept.has(offset)) deleted += 1;
  return deleted;
}

type DeletingLane = Pick<Lane, 'topic' | 'partition' | 'next' | 'hasState' | 'isFinished'>;
