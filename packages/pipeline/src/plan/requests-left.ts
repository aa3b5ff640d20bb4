import type { TopicInfo, TopicLog } from '@headgate/topics';
import type { Pipeline } from '../define-pipeline.ts';
import { type LaneState, STATE_KEYS, laneState } from '../lane/lane-state.ts';
import { type OffsetRangesSnapshot, offsetRanges } from '../lane/offset-ranges.ts';
import { lanesOf, requestsTopic, stateTopic } from '../names.ts';
import type { TopicNames } from '../topic.ts';

export interface RequestsLeftOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly pipeline: Pick<Pipeline, 'name' | 'credentials'>;
  readonly lanes: number;
  readonly names: TopicNames;
}

/**
 * Counts the requests that a next run would find, by offsets and without reading one: there may be millions. A log whose transactions leave
 * marks between records counts these, too.
 */
export async function requestsLeft({ log, group, pipeline, lanes, names }: RequestsLeftOptions): Promise<number> {
  const [requests] = await log.listTopics([requestsTopic(pipeline, names)]);
  const all = Array.from({ length: lanesOf(pipeline, lanes) }, async (_, lane) =>
    leftOf(laneState(group, await log.readState(stateTopic(pipeline, names), lane)), requests?.offsets[lane]),
  );
  return (await Promise.all(all)).reduce((sum, count) => sum + count, 0);
}

function leftOf({ get, under }: LaneState, offsets: TopicInfo['offsets'][number] | undefined): number {
  const { earliest = 0, end = 0 } = offsets ?? {};
  const finished = offsetRanges(get(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined);
  const { next, done } = finished.snapshot();
  const from = Math.max(next, earliest);
  // Walks whose requests the topic holds no longer go on all the same.
  const resumed = under(STATE_KEYS.walk).filter(({ key }) => Number(key) < earliest && !finished.has(Number(key)));
  const above = done.reduce((sum, [first, last]) => sum + Math.max(0, Math.min(last, end - 1) - Math.max(first, from) + 1), 0);
  return resumed.length + Math.max(0, end - from) - above;
}
