import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { TopicMismatchError } from '../../topic-errors.ts';
import type { CreatedTopics, NewTopicSpec, TopicSpec } from '../../topic-log.ts';
import { failureText, refusedTopic, refusesForGood } from '../kafka-failure.ts';
import { type FoundTopic, READ_SETTINGS, isCompacted, maxMessageBytes, mismatches, shortcomings } from './topic-fit.ts';

/** Of a compacted topic: ages are told by one clock, the brokers', and opening a lane reads little. */
const STATE_SETTINGS: Readonly<Record<string, string>> = {
  'cleanup.policy': 'compact',
  'message.timestamp.type': 'LogAppendTime',
  'segment.bytes': '16777216',
  'segment.ms': '3600000',
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': '86400000',
};
/** A book's record may be far above Kafka's usual 1 MiB; managed clusters allow as much as this. */
const RECORD_SETTINGS: Readonly<Record<string, string>> = { 'max.message.bytes': '8388608' };

const KNOWN_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 20;

/** What a writer has to know of a topic. */
export interface TopicFacts {
  readonly partitions: number;
  readonly compacted: boolean;
  /** Bytes of a batch of records that it takes. */
  readonly maxMessageBytes: number;
}

export interface CreateTopicsOptions {
  readonly admin: Admin;
  readonly topics: readonly NewTopicSpec[];
  /** Copies of each partition. */
  readonly replication: number;
  /** Changes nothing: the brokers are asked whether they would. */
  readonly validateOnly: boolean;
}

/** Makes what is missing, lets grow what is too small. Throws `TopicMismatchError` before anything is changed. */
export async function createTopics({ admin, topics, replication, validateOnly }: CreateTopicsOptions): Promise<CreatedTopics> {
  const there = await findTopics(
    admin,
    topics.map(({ name }) => name),
  );
  const known = topics.flatMap((spec) => {
    const found = there.get(spec.name);
    return found === undefined ? [] : [{ spec, found }];
  });
  const [first, ...others] = known.flatMap(({ spec, found }) => mismatches(spec, found));
  if (first !== undefined) throw new TopicMismatchError({ ...first, others });
  const missing = topics.filter(({ name }) => !there.has(name));
  if (missing.length > 0) await createMissing({ admin, topics: missing, replication, validateOnly });
  // A requests topic grows when all that its lanes write to has grown.
  const grown = known.flatMap(({ spec, found }) => (found.partitions < spec.partitions ? [spec] : [])).toSorted(requestsLast);
  for (const { name, partitions } of grown) {
    const growing = admin.createPartitions({ validateOnly, topicPartitions: [{ topic: name, count: partitions }] });
    await growing.catch((error: unknown) => refuse(error, name, `can't get ${partitions} partitions`));
  }
  if (!validateOnly && missing.length + grown.length > 0) await untilKnown(admin, topics);
  return {
    created: missing.map(({ name }) => name),
    warnings: known.flatMap(({ spec, found }) => shortcomings(spec, found, replication)),
  };
}

/** A broker learns of what its controller has made a moment later. */
async function untilKnown(admin: Admin, wanted: readonly TopicSpec[]): Promise<void> {
  const names = wanted.map(({ name }) => name);
  for (const deadline = performance.now() + KNOWN_WITHIN_MS; performance.now() < deadline; await sleep(LOOK_AGAIN_MS)) {
    const there = await findTopics(admin, names);
    if (wanted.every(({ name, partitions }) => (there.get(name)?.partitions ?? 0) >= partitions)) return;
  }
  throw new Error(`The brokers do not list new topics within ${KNOWN_WITHIN_MS / 1_000} s: ${names.join(', ')}`);
}

/** All topics but the brokers' own. */
export async function listTopics(admin: Admin, names?: readonly string[]): Promise<ReadonlyMap<string, TopicFacts>> {
  const wanted = names ?? (await admin.listTopics()).filter((name) => !name.startsWith('__'));
  return await topicFacts(admin, wanted.toSorted());
}

/** The facts of those that are there. */
export async function topicFacts(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, TopicFacts>> {
  const found = await findTopics(admin, names);
  return new Map(
    [...found].map(([name, topic]) => [
      name,
      { partitions: topic.partitions, compacted: isCompacted(topic), maxMessageBytes: maxMessageBytes(topic) },
    ]),
  );
}

async function createMissing({ admin, topics: missing, replication, validateOnly }: CreateTopicsOptions): Promise<void> {
  const brokers = (await admin.describeCluster()).brokers.length;
  const [first] = missing;
  if (brokers < replication && first !== undefined) {
    const reason =
      `can't have ${replication} copies of its data: the cluster has ${brokers === 1 ? 'one broker' : `${brokers} brokers`}. ` +
      `Set topics.replication to ${brokers} to do with less.`;
    throw new TopicMismatchError({ topic: first.name, reason });
  }
  // Of three copies two have to have a record before it counts: one broker may be away.
  const safety = replication > 1 ? { 'min.insync.replicas': String(replication - 1) } : {};
  const topics = missing.map(({ name, partitions, compacted = false }) => ({
    topic: name,
    numPartitions: partitions,
    replicationFactor: replication,
    configEntries: Object.entries({ ...(compacted ? STATE_SETTINGS : RECORD_SETTINGS), ...safety }).map(([key, value]) => ({
      name: key,
      value,
    })),
  }));
  // Another process may have been first.
  const creating = admin.createTopics({ topics, validateOnly, waitForLeaders: !validateOnly });
  await creating.catch((error: unknown) => refuse(error, first?.name ?? '', "can't be made"));
}

async function findTopics(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>> {
  const there = new Set(await admin.listTopics());
  const known = names.filter((name) => there.has(name));
  if (known.length === 0) return new Map();
  const [{ topics }, { resources }] = await Promise.all([
    admin.fetchTopicMetadata({ topics: known }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: known.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: [...READ_SETTINGS] })),
    }),
  ]);
  const settings = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
  const partitions = new Map(topics.map((topic) => [topic.name, topic.partitions]));
  return new Map(
    known.map((name) => {
      const all = partitions.get(name) ?? [];
      const copies = Math.min(...all.map(({ replicas }) => replicas.length));
      return [name, { partitions: all.length, copies, settings: settings.get(name) ?? new Map() }];
    }),
  );
}

/** Where the brokers' answer is no: in words, and not tried again. */
function refuse(error: unknown, topic: string, what: string): void {
  if (!refusesForGood(error)) throw error;
  const reason = `${what}: ${failureText(error)}. Give this user Create and Alter on it, or make it yourself as the documentation says.`;
  throw new TopicMismatchError({ topic: refusedTopic(error) ?? topic, reason }, { cause: error });
}

function requestsLast(a: TopicSpec, b: TopicSpec): number {
  return Number(a.name.endsWith('.requests')) - Number(b.name.endsWith('.requests'));
}
