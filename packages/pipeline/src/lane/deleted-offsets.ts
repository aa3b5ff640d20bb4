import type { TopicLog } from '@headgate/topics';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { Lane } from './lane.ts';

/** Offsets of a requests topic that the log deleted before a run read them. */
export interface DeletedOffsets {
  /** Estimated number of deleted requests. Deleted requests can't be told from deleted end markers of transactions. */
  readonly count: number;
  readonly last: number;
}

export interface UnreadOffsets extends Pick<Lane, 'topic' | 'partition' | 'isFinished'> {
  /** The first offset that the lane hasn't read. */
  readonly from: number;
  /** Offsets of unfinished requests that the lane's state contains. */
  readonly kept: ReadonlySet<number>;
}

/**
 * Finds the offsets of a lane's requests topic that the log deleted before the lane read them. Returns undefined if there are none. `count`
 * leaves out single offsets, because each is probably the end marker of a transaction.
 */
export async function deletedOffsets(
  log: Pick<TopicLog, 'listTopics'>,
  { topic, partition, from, isFinished, kept }: UnreadOffsets,
): Promise<DeletedOffsets | undefined> {
  const [found] = await log.listTopics([topic]);
  const earliest = found?.offsets[partition]?.earliest ?? 0;
  const isKnown = (offset: number): boolean => offset < from || isFinished(offset) || kept.has(offset);
  let last: number | undefined;
  let count = 0;
  for (let offset = from; offset < earliest; offset += 1) {
    if (isKnown(offset)) continue;
    last = offset;
    const isMarker = isKnown(offset - 1) && (offset + 1 >= earliest || isKnown(offset + 1));
    if (!isMarker) count += 1;
  }
  return last === undefined ? undefined : { count, last };
}

export function requestsDeleted(
  count: number,
  { pipeline, lane: { topic, partition } }: { readonly pipeline: string; readonly lane: Pick<Lane, 'topic' | 'partition'> },
): PipelineError {
  return new PipelineError({
    code: 'HEADGATE_REQUESTS_DELETED',
    message:
      `${topic}-${partition}: the log deleted up to ${count.toLocaleString('en-US')} jobs before a run processed them. ` +
      'Some of these offsets may have been transaction markers rather than jobs. Enqueue the lost jobs again, and set retention.ms=-1 on that topic.',
    pipeline,
  });
}
