import { setTimeout as sleep } from 'node:timers/promises';
import { type MissingRight, MissingRightError } from '../../missing-right-error.ts';
import { type Metadata, type TopicMetadata, metadata } from '../requests/topics.ts';
import { answeredError } from './answered-error.ts';
import type { Cluster } from './cluster.ts';
import { withinTime } from './time-limit.ts';

export type FoundTopics = ReadonlyMap<string, TopicMetadata>;

/** UNKNOWN_TOPIC_OR_PARTITION, and INVALID_TOPIC_EXCEPTION, which says that no topic can have this name. */
const ABSENT: ReadonlySet<number> = new Set([3, 17]);
/** TOPIC_AUTHORIZATION_FAILED: the broker hides whether the topic exists. */
const HIDDEN = 29;

/**
 * How long brokers are queried for a topic that they don't know. A broker that has just started, or lags behind, may not know it yet.
 */
const CERTAIN_WITHIN_MS = 3_000;
const POLL_MS = 200;
const ANSWER_WITHIN_MS = 1_000;

/**
 * The topics as one broker knows them now; the result omits topics that it doesn't know. `topics`: null for all. Throws a `MissingRightError`
 * if this user isn't allowed to see one.
 */
export async function topicMetadata(cluster: Cluster, topics: readonly string[] | null, broker?: string): Promise<FoundTopics> {
  return foundTopics(await cluster.ask(metadata, { topics }, { broker }));
}

/**
 * The topics as the cluster knows them. A topic counts as missing, or as having fewer partitions than `wanted`, only after the brokers have been
 * queried in turn for about 3 s. All topics of a call share the wait.
 */
export async function certainTopicMetadata(cluster: Cluster, wanted: ReadonlyMap<string, number>): Promise<FoundTopics> {
  const names = [...wanted.keys()];
  const found = new Map<string, TopicMetadata>();
  if (wanted.size === 0) return found;
  const isComplete = (name: string): boolean => partitionCount(found.get(name)) >= Math.max(1, wanted.get(name) ?? 1);
  const deadline = performance.now() + CERTAIN_WITHIN_MS;
  let hasAnswer = false;
  for (let turn = 0; ; turn += 1) {
    try {
      const answer = await withinTime(ANSWER_WITHIN_MS, askInTurn(cluster, turn, names));
      for (const [name, topic] of answer) if (partitionCount(topic) >= partitionCount(found.get(name))) found.set(name, topic);
      hasAnswer = true;
      if (names.every(isComplete)) return found;
    } catch (error) {
      if (error instanceof MissingRightError) throw error;
      if (!hasAnswer && performance.now() + POLL_MS >= deadline) throw error;
    }
    if (performance.now() + POLL_MS >= deadline) return found;
    await sleep(POLL_MS);
  }
}

async function askInTurn(cluster: Cluster, turn: number, names: readonly string[]): Promise<FoundTopics> {
  const brokers = [...cluster.nodes.values()];
  return await topicMetadata(cluster, names, turn === 0 ? undefined : brokers[turn % brokers.length]);
}

export function partitionCount(topic: TopicMetadata | undefined): number {
  return topic?.partitionMetadata.length ?? 0;
}

/** The numbers of a topic's partitions, ascending. */
export function partitionNumbers({ partitionMetadata }: TopicMetadata): readonly number[] {
  return partitionMetadata.map(({ partitionId }) => partitionId).toSorted((a, b) => a - b);
}

/** True if a topic with this number of partitions has the partition. A caller can pass any number, such as NaN. */
export function hasPartition(partitions: number, partition: number): boolean {
  return Number.isInteger(partition) && partition >= 0 && partition < partitions;
}

function foundTopics({ topicMetadata: topics }: Metadata): FoundTopics {
  const found = new Map<string, TopicMetadata>();
  const hidden: MissingRight[] = [];
  for (const described of topics) {
    const { topic, topicErrorCode } = described;
    if (topicErrorCode === HIDDEN) hidden.push({ operation: 'Describe', kind: 'topic', name: topic });
    else if (topicErrorCode === 0) found.set(topic, described);
    else if (!ABSENT.has(topicErrorCode)) throw answeredError(topicErrorCode);
  }
  if (hidden.length > 0) throw new MissingRightError(hidden);
  return found;
}
