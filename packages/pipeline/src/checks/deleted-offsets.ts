import type { TopicLog } from '@headgate/topics';
import { PipelineError } from '../definition/pipeline-error.ts';
import type { Lane } from '../engine/lane.ts';

/** Offsets that a log has deleted before they were read. */
export interface DeletedOffsets {
  /** Maximum number of requests; it may include end markers of transactions, which the log can no longer tell apart. */
  readonly count: number;
  /** The first offset after them. */
  readonly before: number;
}

/**
 * Offsets of a lane's requests topic that the log deleted before the lane read them; undefined if there are none. `kept`: offsets of
 * requests in the lane's state. A single offset after a known request isn't counted: it is the end marker of the request's own transaction.
 */
export async function deletedOffsets(
  log: Pick<TopicLog, 'listTopics'>,
  lane: DeletingLane,
  kept: ReadonlySet<number>,
): Promise<DeletedOffsets | undefined> {
  // A new lane has missed nothing.
  if (!lane.hasState) return undefined;
  const [topic] = await log.listTopics([lane.topic]);
  const earliest = topic?.offsets[lane.partition]?.earliest ?? 0;
  const isKnown = (offset: number): boolean => offset < lane.next || lane.isFinished(offset) || kept.has(offset);
  let unknown = 0;
  let count = 0;
  for (let offset = lane.next; offset < earliest; offset += 1) {
    if (isKnown(offset)) continue;
    unknown += 1;
    const isMarker = isKnown(offset - 1) && (offset + 1 >= earliest || isKnown(offset + 1));
    if (!isMarker) count += 1;
  }
  return unknown === 0 ? undefined : { count, before: earliest };
}

type DeletingLane = Pick<Lane, 'topic' | 'partition' | 'next' | 'hasState' | 'isFinished'>;

/** The error of a lane whose log deleted requests. */
export function requestsDeleted(
  { count }: DeletedOffsets,
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
