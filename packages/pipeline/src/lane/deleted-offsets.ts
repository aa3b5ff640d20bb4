import type { TopicLog } from '@headgate/topics';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { Lane } from './lane.ts';

/**
 * Returns the first offset that a lane's requests topic still has, if the log deleted jobs before the lane read them; otherwise
 * undefined. A single deleted offset is taken for the end marker of a transaction. `from`: the first offset that the lane hasn't read.
 * `kept`: offsets of unfinished jobs that the lane's state contains.
 */
export async function endOfDeleted(
  log: Pick<TopicLog, 'offsets'>,
  { topic, partition, isFinished }: Pick<Lane, 'topic' | 'partition' | 'isFinished'>,
  from: number,
  kept: ReadonlySet<number>,
): Promise<number | undefined> {
  const [earliest = 0] = await log.offsets([{ topic, partition }], 'earliest');
  const isUnread = (offset: number): boolean => !isFinished(offset) && !kept.has(offset);
  for (let offset = from + 1; offset < earliest; offset += 1) if (isUnread(offset - 1) && isUnread(offset)) return earliest;
  return undefined;
}

export function jobsDeleted(pipeline: string, { topic, partition }: Pick<Lane, 'topic' | 'partition'>): PipelineError {
  const message =
    `${topic}-${partition}: the log deleted some jobs before a run processed them. ` +
    'Enqueue the lost jobs again, and set retention.ms=-1 on that topic.';
  return new PipelineError({ code: 'HEADGATE_REQUESTS_DELETED', message, pipeline });
}
