import { type StateReading, type TopicLog, TopicLostError, TopicUnknownError } from '@headgate/topics';
import type { TopicsConfig } from '../config/config.ts';
import { laneKeys } from '../lanes/lane-keys.ts';
import { type OffsetRangesSnapshot, offsetRanges } from '../lanes/offset-ranges.ts';
import { TOPICS, requestsTopic, statePartition } from '../records/topic-names.ts';
import type { ServiceName } from '../status/run-event.ts';
import type { ConfigOfLog } from './topics.ts';
import { StateLostError } from './state-lost-error.ts';

export interface KeptStateOptions {
  readonly log: TopicLog;
  readonly topics: TopicsConfig;
  readonly service: ServiceName;
  readonly lane: number;
  /** The first wish that isn't finished, as the lane's state has it; undefined where it has none. */
  readonly next: number | undefined;
}

/**
 * Throws a `StateLostError` where a lane's state and its wishes don't belong together. A lane without state although its group has committed
 * an offset: both are written together, so the state was deleted, and wishes would be worked again. A state beyond the end of the wishes:
 * their topic was made anew, and new wishes would be taken for finished.
 */
export async function assertStateKept({ log, topics, service, lane, next }: KeptStateOptions): Promise<void> {
  const topic = requestsTopic(service);
  if (next !== undefined) {
    const [requests] = await log.listTopics([topic]);
    const end = requests?.offsets[lane]?.end;
    if (next <= (end ?? 0)) return;
    const found = end === undefined ? 'is not there' : `ends at offset ${end}`;
    const what = `${topic} partition ${lane} ${found}, and group "${topics.group}" has finished all before ${next}: was it deleted${end === undefined ? '' : ' and made anew'}?`;
    throw new StateLostError({ what, loss: 'wishes', topics });
  }
  const offset = await log.groupOffset({ group: topics.group, topic, partition: lane });
  if (offset === undefined) return;
  const what = `${TOPICS.state} has nothing of ${topic} partition ${lane}, of which group "${topics.group}" has committed offset ${offset}: was it deleted?`;
  throw new StateLostError({ what, loss: 'state', topics });
}

/** The same for all lanes of a config, without taking any. `missing`: topics that are not there. */
export async function assertStatesKept({
  log,
  config: { topics, followers, books },
  missing,
}: {
  readonly log: TopicLog;
  readonly config: ConfigOfLog;
  readonly missing: readonly string[];
}): Promise<void> {
  const lanes = [
    ...(followers === undefined ? [] : Array.from({ length: topics.lanes }, (_, lane) => ({ service: 'followers' as const, lane }))),
    ...(books === undefined ? [] : [{ service: 'books' as const, lane: 0 }]),
  ];
  // At once: that there is no such partition takes brokers a moment to be sure of.
  const checks = lanes.map(async ({ service, lane }) => {
    // Asking for a group makes brokers make their topic of groups.
    if (missing.includes(requestsTopic(service))) return;
    const keys = laneKeys({ group: topics.group, service, lane });
    const found = missing.includes(TOPICS.state) ? undefined : await stateOf(log, statePartition(service, lane));
    const finished = found && (keys.get(found, 'lane') as OffsetRangesSnapshot | undefined);
    await assertStateKept({ log, topics, service, lane, next: finished && offsetRanges(finished).next });
  });
  await Promise.all(checks);
}

/** Undefined where there is no such partition: one of a new lane is made with the next run. */
async function stateOf(log: TopicLog, partition: number): Promise<StateReading | undefined> {
  try {
    return await log.readState(TOPICS.state, partition);
  } catch (error) {
    if (error instanceof TopicUnknownError) return undefined;
    throw error;
  }
}

/** What became of a lane's topic while the lane was worked, in words; any other error as it is. */
export function topicGone(error: unknown, topics: TopicsConfig): unknown {
  if (!(error instanceof TopicUnknownError || error instanceof TopicLostError)) return error;
  const { topic } = error;
  const what = `Topic "${topic}" was deleted while this run worked with it.`;
  const loss =
    topic === TOPICS.state ? 'state' : topic === TOPICS.followersRequests || topic === TOPICS.booksRequests ? 'wishes' : 'records';
  return new StateLostError({ what, loss, topics }, { cause: error });
}
