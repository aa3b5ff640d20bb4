import { setTimeout as sleep } from 'node:timers/promises';
import kafkajs, { type Admin } from 'kafkajs';
import { TopicMismatchError } from '../topic-errors.ts';
import type { TopicSpec } from '../topic-log.ts';

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
const READ_SETTINGS = ['cleanup.policy', 'message.timestamp.type', 'max.message.bytes'];

const KNOWN_WITHIN_MS = 10_000;
const LOOK_AGAIN_MS = 20;

/** What a writer has to know of a topic. */
export interface TopicFacts {
  readonly partitions: number;
  readonly compacted: boolean;
  /** Bytes of a batch of records that it takes. */
  readonly maxMessageBytes: number;
}

interface FoundTopic {
  readonly partitions: number;
  readonly settings: ReadonlyMap<string, string>;
}

/** Makes what is missing, lets grow what is too small. Throws `TopicMismatchError` before anything is changed. `replication`: copies of each partition. */
export async function createTopics(admin: Admin, wanted: readonly TopicSpec[], replication: number): Promise<void> {
  const there = await findTopics(
    admin,
    wanted.map(({ name }) => name),
  );
  for (const spec of wanted) assertFits(spec, there.get(spec.name));
  const missing = wanted.filter(({ name }) => !there.has(name));
  if (missing.length > 0) await createMissing(admin, missing, replication);
  // A requests topic grows when all that its lanes write to has grown.
  const grown = wanted.filter(({ name, partitions }) => (there.get(name)?.partitions ?? partitions) < partitions);
  for (const { name, partitions } of grown.toSorted(requestsLast)) {
    await admin.createPartitions({ topicPartitions: [{ topic: name, count: partitions }] });
  }
  if (missing.length > 0 || grown.length > 0) await untilKnown(admin, wanted);
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
export async function listTopics(admin: Admin): Promise<ReadonlyMap<string, TopicFacts>> {
  const names = (await admin.listTopics()).filter((name) => !name.startsWith('__'));
  return await topicFacts(admin, names.sort());
}

/** The facts of those that are there. */
export async function topicFacts(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, TopicFacts>> {
  const found = await findTopics(admin, names);
  return new Map(
    [...found].map(([name, { partitions, settings }]) => {
      const maxMessageBytes = Number(settings.get('max.message.bytes') ?? KAFKA_MAX_MESSAGE_BYTES);
      return [name, { partitions, compacted: isCompacted(settings), maxMessageBytes }];
    }),
  );
}

async function createMissing(admin: Admin, missing: readonly TopicSpec[], replication: number): Promise<void> {
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
  await admin.createTopics({ topics, waitForLeaders: true });
}

async function findTopics(admin: Admin, names: readonly string[]): Promise<ReadonlyMap<string, FoundTopic>> {
  const there = new Set(await admin.listTopics());
  const known = names.filter((name) => there.has(name));
  if (known.length === 0) return new Map();
  const [{ topics }, { resources }] = await Promise.all([
    admin.fetchTopicMetadata({ topics: known }),
    admin.describeConfigs({
      includeSynonyms: false,
      resources: known.map((name) => ({ type: kafkajs.ConfigResourceTypes.TOPIC, name, configNames: READ_SETTINGS })),
    }),
  ]);
  const settings = new Map(
    resources.map(({ resourceName, configEntries }) => [
      resourceName,
      new Map(configEntries.map(({ configName, configValue }) => [configName, configValue])),
    ]),
  );
  const partitions = new Map(topics.map((topic) => [topic.name, topic.partitions.length]));
  return new Map(known.map((name) => [name, { partitions: partitions.get(name) ?? 0, settings: settings.get(name) ?? new Map() }]));
}

/** What a broker takes as it is delivered. */
const KAFKA_MAX_MESSAGE_BYTES = 1_048_588;

function isCompacted(settings: ReadonlyMap<string, string>): boolean {
  return settings.get('cleanup.policy')?.includes('compact') ?? false;
}

function assertFits({ name, partitions, compacted = false }: TopicSpec, found: FoundTopic | undefined): void {
  if (found === undefined) return;
  if (found.partitions > partitions) {
    const reason = `has ${found.partitions} partitions; it can't shrink to ${partitions}. Ask for at least ${found.partitions}.`;
    throw new TopicMismatchError({ topic: name, reason });
  }
  if (isCompacted(found.settings) !== compacted) {
    const reason = `has cleanup.policy=${found.settings.get('cleanup.policy')}; it needs ${compacted ? 'compact' : 'delete'}. Set that, or use another topic.`;
    throw new TopicMismatchError({ topic: name, reason });
  }
  const stamps = found.settings.get('message.timestamp.type') ?? 'LogAppendTime';
  if (compacted && stamps !== 'LogAppendTime') {
    const reason = `has message.timestamp.type=${stamps}; it needs LogAppendTime: what is kept there ages by the brokers' clock. Set that on the topic.`;
    throw new TopicMismatchError({ topic: name, reason });
  }
}

function requestsLast(a: TopicSpec, b: TopicSpec): number {
  return Number(a.name.endsWith('.requests')) - Number(b.name.endsWith('.requests'));
}
