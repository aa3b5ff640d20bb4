import { setTimeout as sleep } from 'node:timers/promises';
import { type MissingRight, MissingRightError } from '../../missing-right-error.ts';
import { answeredError } from '../client/answered-error.ts';
import type { Cluster } from '../client/cluster.ts';
import { withinTime } from '../client/time-limit.ts';
import type { Metadata, TopicMetadata } from '../requests/topics.ts';

export type FoundTopics = ReadonlyMap<string, TopicMetadata>;

/** UNKNOWN_TOPIC_OR_PARTITION, and INVALID_TOPIC_EXCEPTION, which says that no topic can have this name. */
const ABSENT: ReadonlySet<number> = new Set([3, 17]);
/** TOPIC_AUTHORIZATION_FAILED: the broker hides whether the topic exists. */
const HIDDEN = 29;

/** How long all brokers must not know a topic, or respond at all, before it counts as missing. A broker learns of a new topic a moment late. */
const CERTAIN_WITHIN_MS = 1_000;
const POLL_MS = 200;

/**
 * The topics as one broker knows them now; the result omits topics that it doesn't know. `topics`: null for all. Throws a `MissingRightError`
 * if this user isn't allowed to see one.
 */
export async function topicMetadata(cluster: Cluster, topics: readonly string[] | null, broker?: string): Promise<FoundTopics> {
  return foundTopics(await cluster.metadata(topics, broker));
}

/**
 * The topics as the cluster knows them. A topic counts as missing, or as having fewer partitions than `wanted`, only if no broker says otherwise for
 * about 1 s. Brokers that don't respond are ignored. All topics of a call share the wait.
 */
export async function certainTopicMetadata(cluster: Cluster, wanted: ReadonlyMap<string, number>): Promise<FoundTopics> {
  const names = [...wanted.keys()];
  const found = new Map<string, TopicMetadata>();
  const isComplete = (name: string): boolean => partitionCount(found.get(name)) >= Math.max(1, wanted.get(name) ?? 1);
  const deadline = performance.now() + CERTAIN_WITHIN_MS;
  let brokers: readonly (string | undefined)[] = [undefined];
  let fault: unknown;
  let hasAnswer = false;
  for (let round = 0; !names.every(isComplete); round += 1) {
    if (round > 1 && performance.now() >= deadline) {
      if (!hasAnswer) throw fault;
      break;
    }
    if (round > 0) await sleep(POLL_MS);
    const asked = brokers.map((broker) => withinTime(CERTAIN_WITHIN_MS, topicMetadata(cluster, names, broker)));
    for (const answer of await Promise.allSettled(asked)) {
      if (answer.status === 'rejected') {
        fault = answer.reason;
        if (fault instanceof MissingRightError) throw fault;
        continue;
      }
      hasAnswer = true;
      for (const [name, topic] of answer.value) if (partitionCount(topic) >= partitionCount(found.get(name))) found.set(name, topic);
    }
    brokers = [...cluster.nodes.values()];
  }
  return found;
}

export function partitionCount(topic: TopicMetadata | undefined): number {
  return topic?.partitionMetadata.length ?? 0;
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
