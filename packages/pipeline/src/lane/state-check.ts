import { type StateReading, type TopicLog, TopicLostError, type TopicPartition, TopicUnknownError } from '@headgate/topics';
import { lanesOf, requestsTopic, stateTopic } from '../topics/names.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import type { TopicNames } from '../topics/topic.ts';
import type { PipelineTopics } from '../topics/topics.ts';
import { type LaneState, STATE_KEYS, laneState } from './lane-state.ts';
import { OffsetRanges, type OffsetRangesSnapshot } from './offset-ranges.ts';

/** What was lost: the topic of the lane's state, of its requests, or of its records; or only the newest records of any of them. */
export type Loss = 'state' | 'requests' | 'records' | 'end';

/** A topic that a lane uses was deleted, recreated or renamed. */
export class StateLostError extends PipelineError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'StateLostError';
  /** What was lost. It determines the cure at the end of the message. */
  readonly loss: Loss;
  /** The message without the cure. */
  readonly what: string;

  constructor({ message, loss }: { readonly message: string; readonly loss: Loss }, options?: ErrorOptions) {
    super({ code: 'HEADGATE_STATE_LOST', message: `${message} ${CURES[loss]}`, cause: options?.cause });
    this.loss = loss;
    this.what = message;
  }
}

const CURES: Readonly<Record<Loss, string>> = {
  state:
    'Continuing would repeat finished jobs and overrun the budgets. Restore it; or, to start over on purpose, stop all ' +
    'processes of the group, wait for one window, and continue with another group name.',
  requests:
    'Continuing would treat new jobs as finished. Restore it; or, to start over on purpose, stop all processes of the group, wait for one ' +
    'window, and continue with another group name.',
  records: 'Its records are lost. The next run creates it again and continues after them.',
  end: "Run again: the next run continues from what the log has, or says why it can't.",
};

export interface StateCheckOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly pipeline: Pick<PipelineTopics, 'name'>;
  readonly names: TopicNames;
  readonly lane: number;
  /** ID of the requests topic. Undefined if it is unknown. */
  readonly id: string | undefined | Promise<string | undefined>;
  /** Returns the value of a key of the lane's state. Undefined if there is none. */
  readonly stateAt: LaneState['get'];
}

/**
 * Throws a `StateLostError` if a lane's state doesn't match its requests topic.
 *
 * If the lane has no state, but its group has a committed offset, the state was deleted, because one transaction writes both. If the state
 * is about another topic, or beyond the end of its topic, the topic was recreated or replaced, and new requests would count as finished. A
 * topic with another ID is accepted if the group has a committed offset in it, because a log deletes such offsets together with their
 * topic.
 */
export async function assertStateKept(options: StateCheckOptions): Promise<void> {
  const { log, group, pipeline, names, lane, stateAt } = options;
  const finished = stateAt(STATE_KEYS.finished) as OffsetRangesSnapshot | undefined;
  const next = finished && new OffsetRanges(finished).next;
  const [stateOf, stateOfId] = [STATE_KEYS.requests, STATE_KEYS.requestsId].map((key) => stateAt(key) as string | undefined);
  const topic = requestsTopic(pipeline, names);
  if (stateOf !== undefined && stateOf !== topic) {
    const state = stateTopic(pipeline, names);
    const message = `${state} has the progress of group "${group}" in ${stateOf}, but its jobs now come from ${topic}. Restore that topic's name, or rename ${state}, too.`;
    throw new StateLostError({ message, loss: 'requests' });
  }
  if (next !== undefined) {
    const [end, id] = await Promise.all([endOf(log, { topic, partition: lane }), options.id]);
    const isSame = next === 0 || id === undefined || stateOfId === undefined || id === stateOfId;
    if (next <= (end ?? 0) && (isSame || (await log.groupOffset({ group, topic, partition: lane })) !== undefined)) return;
    const found = end === undefined ? "doesn't exist" : next > end ? `ends at offset ${end}` : `has the topic ID ${id}, not ${stateOfId}`;
    const message = `${topic} partition ${lane} ${found}, but group "${group}" has finished everything before ${next}. Was the topic deleted${end === undefined ? '' : ' and created again'}?`;
    throw new StateLostError({ message, loss: 'requests' });
  }
  const offset = await log.groupOffset({ group, topic, partition: lane });
  if (offset === undefined) return;
  const message = `${stateTopic(pipeline, names)} has no records for ${topic} partition ${lane}, but group "${group}" has committed offset ${offset} there. Was the state topic deleted?`;
  throw new StateLostError({ message, loss: 'state' });
}

/** Returns the offset at which readers of a partition end. Undefined if it doesn't exist. */
async function endOf(log: TopicLog, place: TopicPartition): Promise<number | undefined> {
  const [end] = await log.offsets([place], 'end').catch((error: unknown) => {
    if (error instanceof TopicUnknownError) return [];
    throw error;
  });
  return end;
}

/** Returns the ID of a topic. Undefined if the topic doesn't exist, or has none. */
export async function topicId(log: Pick<TopicLog, 'listTopics'>, topic: string): Promise<string | undefined> {
  const [found] = await log.listTopics([topic], { withOffsets: false });
  return found?.id;
}

/**
 * Calls `assertStateKept` for the lanes of all existing requests topics, without taking a lane. `missing`: names of topics that don't
 * exist.
 */
export async function assertStatesKept({
  log,
  group,
  pipelines,
  names,
  lanes,
  missing,
}: {
  readonly log: TopicLog;
  readonly group: string;
  readonly pipelines: readonly PipelineTopics[];
  readonly names: TopicNames;
  readonly lanes: number;
  readonly missing: readonly string[];
}): Promise<void> {
  // Skip a missing topic: a query for a group's offsets would make Kafka's brokers create their internal topic for groups.
  const existing = pipelines.filter((pipeline) => !missing.includes(requestsTopic(pipeline, names)));
  // Run all checks concurrently, because a log can take seconds to confirm that a partition doesn't exist.
  const checks = existing.map(async (pipeline) => {
    const id = topicId(log, requestsTopic(pipeline, names));
    const check = async (lane: number): Promise<void> => {
      const topic = stateTopic(pipeline, names);
      const reading = missing.includes(topic) ? undefined : await readState(log, topic, lane);
      const stateAt = reading === undefined ? () => undefined : laneState(group, reading).get;
      await assertStateKept({ log, group, pipeline, names, lane, id, stateAt });
    };
    await Promise.all(Array.from({ length: lanesOf(pipeline, lanes) }, (_, lane) => check(lane)));
  });
  await Promise.all(checks);
}

/** Reads the state in a partition. Returns undefined if the partition doesn't exist. */
export async function readState(log: Pick<TopicLog, 'readState'>, topic: string, partition: number): Promise<StateReading | undefined> {
  try {
    return await log.readState(topic, partition);
  } catch (error) {
    if (error instanceof TopicUnknownError) return undefined;
    throw error;
  }
}

/**
 * Converts an error about a topic that was deleted, recreated or cut off during the run to a `StateLostError`. Returns any other error unchanged.
 */
export function topicGone(error: unknown, pipeline: Pick<PipelineTopics, 'name'>, names: TopicNames): unknown {
  if (error instanceof TopicLostError) {
    const message = `Topic "${error.topic}" lost its newest records while this run used it: its brokers went back to an earlier state, or it was recreated.`;
    return new StateLostError({ message, loss: 'end' }, { cause: error });
  }
  if (!(error instanceof TopicUnknownError)) return error;
  const { topic } = error;
  const loss = topic === stateTopic(pipeline, names) ? 'state' : topic === requestsTopic(pipeline, names) ? 'requests' : 'records';
  return new StateLostError({ message: `Topic "${topic}" was deleted while this run used it.`, loss }, { cause: error });
}
