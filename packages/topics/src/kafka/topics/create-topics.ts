import { setTimeout as sleep } from 'node:timers/promises';
import { type MissingRight, MissingRightError } from '../../missing-right-error.ts';
import { type TopicMismatch, TopicMismatchError } from '../../topic-errors.ts';
import type { CreatedTopics, NewTopicSpec, TopicSpec } from '../../topic-log.ts';
import type { Cluster } from '../client/cluster.ts';
import { chain, isAnswer, passes, refusalText } from '../client/driver-errors.ts';
import { partitionKey } from '../../topic-partition.ts';
import { listOffsets } from '../requests/offsets.ts';
import { createPartitions, createTopics as createTopicsRequest } from '../requests/topics.ts';
import { assertCoordinators } from './coordinators.ts';
import { type FoundTopic, type TopicSettings, mismatches, warnings } from './topic-requirements.ts';
import { withSettings } from './describe-topics.ts';
import { partitionCount, topicMetadata } from './topic-metadata.ts';

/** Brokers stamp the records of all topics, so that neither their ages nor a search by time depends on the clients' clocks. */
const SETTINGS: TopicSettings = { 'message.timestamp.type': 'LogAppendTime' };
/** Settings of a compacted topic. Frequent compaction keeps it, and what a lane reads of its state, small. */
const COMPACTED_SETTINGS: TopicSettings = {
  'cleanup.policy': 'compact',
  'segment.bytes': '16777216',
  'segment.ms': '3600000',
  'min.cleanable.dirty.ratio': '0.1',
  'delete.retention.ms': '86400000',
};
/** Records can be larger than Kafka's default limit of about 1 MiB. */
const RECORD_SETTINGS: TopicSettings = { 'max.message.bytes': '8388608' };

/** Settings of a topic that keeps its records (`keepsRecords`), because jobs can wait in it for months. */
const KEPT_SETTINGS: TopicSettings = { 'retention.ms': '-1', 'retention.bytes': '-1' };

const KNOWN_WITHIN_MS = 10_000;
const POLL_MS = 20;

export interface CreateTopicsOptions {
  readonly cluster: Cluster;
  readonly topics: readonly NewTopicSpec[];
  readonly replication: number;
  /** Settings of single topics, by the topics' names. */
  readonly settings: Readonly<Record<string, TopicSettings>>;
  /** True to change nothing: the brokers only validate the request. */
  readonly validateOnly: boolean;
}

export interface PreparedTopics extends CreatedTopics {
  /** Descriptions of the topics that exist afterwards. */
  readonly descriptions: ReadonlyMap<string, FoundTopic>;
}

/** Creates missing topics, and adds partitions to those with too few. Throws before it changes anything if an existing topic doesn't fit. */
export async function createTopics(options: CreateTopicsOptions): Promise<PreparedTopics> {
  const { cluster, topics, replication, settings, validateOnly } = options;
  const [{ existing, starts }] = await Promise.all([existingTopics(options), assertCoordinators(cluster)]);
  const known = topics.flatMap((spec) => {
    const found = existing.get(spec.name);
    return found === undefined ? [] : [{ spec, found }];
  });
  const [first, ...others] = known.flatMap(({ spec, found }) => mismatches(spec, found));
  if (first !== undefined) throw new TopicMismatchError({ ...first, others });
  const missing = topics.filter(({ name }) => !existing.has(name));
  if (missing.length > 0) await createMissing({ ...options, topics: missing });
  // A requests topic grows last, because each of its partitions is a lane that writes to the other topics.
  const grown = known.flatMap(({ spec, found }) => (found.partitions < spec.partitions ? [spec] : [])).toSorted(requestsLast);
  await assertMayGrow(cluster, grown);
  if (!validateOnly) for (const spec of grown) await grow(cluster, spec, false);
  const changed = validateOnly ? [] : [...missing, ...grown];
  const now = changed.length === 0 ? existing : new Map([...existing, ...(await knownTopics(cluster, changed))]);
  return {
    descriptions: now,
    created: missing.map(({ name }) => name),
    grown: known.flatMap(({ spec: { name, partitions: to }, found: { partitions: from } }) =>
      from < to ? [{ topic: name, from, to }] : [],
    ),
    warnings: warningLines(
      known.map(({ spec, found }) => ({
        name: spec.name,
        texts: warnings(spec, found, {
          replication,
          brokers: cluster.nodes.size,
          starts: starts.get(spec.name),
          wanted: settings[spec.name],
        }),
      })),
    ),
  };
}

/**
 * The topics that one broker knows, and the first offsets of those with state. Another broker may know more topics: then the controller refuses to
 * create these, and the next attempt finds them.
 */
async function existingTopics({ cluster, topics, settings }: CreateTopicsOptions) {
  const broker = await cluster.anyBroker();
  const names = topics.map(({ name }) => name);
  const wanted = names.flatMap((name) => Object.keys(settings[name] ?? {}));
  const found = await topicMetadata(cluster, names, broker);
  const states = topics.filter(isState).map(({ name }) => ({ name, partitions: partitionCount(found.get(name)) }));
  const [existing, starts] = await Promise.all([withSettings(cluster, broker, found, [...new Set(wanted)]), stateStarts(cluster, states)]);
  return { existing, starts };
}

/** Returns each warning once, with all topics that it applies to. */
function warningLines(topics: readonly { readonly name: string; readonly texts: readonly string[] }[]): string[] {
  const named = topics.flatMap(({ name, texts }) => texts.map((text) => ({ name: `"${name}"`, text })));
  return Array.from(
    Map.groupBy(named, ({ text }) => text),
    ([text, all]) => {
      const names = all.map(({ name }) => name).join(', ');
      return `${all.length === 1 ? 'Topic' : 'Each of the topics'} ${names} ${text}`;
    },
  );
}

/** Throws a `MissingRightError` that names all topics for which the user lacks the right, before any of them grows. */
async function assertMayGrow(cluster: Cluster, topics: readonly TopicSpec[]): Promise<void> {
  const missing: MissingRight[] = [];
  for (const spec of topics) {
    await grow(cluster, spec, true).catch((error: unknown) => {
      if (!(error instanceof MissingRightError)) throw error;
      missing.push(...error.rights);
    });
  }
  if (missing.length > 0) throw new MissingRightError(missing);
}

async function grow(cluster: Cluster, { name, partitions }: TopicSpec, validateOnly: boolean): Promise<void> {
  const growing = cluster.ask(createPartitions, { topics: [{ topic: name, partitions }], validateOnly });
  await growing.catch((error: unknown) => refuse(error, name, `can't grow to ${partitions} partitions`));
}

/** Describes created or enlarged topics, as soon as a broker knows them. Brokers learn of them a moment after the controller does. */
async function knownTopics(cluster: Cluster, wanted: readonly TopicSpec[]): Promise<ReadonlyMap<string, FoundTopic>> {
  const names = wanted.map(({ name }) => name);
  for (const deadline = performance.now() + KNOWN_WITHIN_MS; performance.now() < deadline; await sleep(POLL_MS)) {
    const broker = await cluster.anyBroker();
    const existing = await topicMetadata(cluster, names, broker);
    if (wanted.every(({ name, partitions }) => partitionCount(existing.get(name)) >= partitions))
      return await withSettings(cluster, broker, existing);
  }
  throw new Error(
    `The brokers created these topics but didn't list them within ${KNOWN_WITHIN_MS / 1_000} s: ${names.join(', ')}. Try again.`,
  );
}

/** Returns the first offset of each partition of the topics. If the request fails, each offset is 0, because a warning isn't worth an error. */
async function stateStarts(cluster: Cluster, topics: readonly TopicSpec[]): Promise<ReadonlyMap<string, readonly number[]>> {
  const topicPartitions = topics.flatMap(({ name: topic, partitions }) =>
    Array.from({ length: partitions }, (_, partition) => ({ topic, partition })),
  );
  if (topicPartitions.length === 0) return new Map();
  const starts = await cluster.ask(listOffsets, { topicPartitions, which: 'earliest' }).catch(() => new Map<string, number>());
  const byTopic = Map.groupBy(topicPartitions, ({ topic }) => topic);
  return new Map([...byTopic].map(([topic, places]) => [topic, places.map((place) => starts.get(partitionKey(place)) ?? 0)]));
}

async function createMissing({ cluster, topics: missing, replication, settings, validateOnly }: CreateTopicsOptions): Promise<void> {
  // All replicas but one must have a record before the write is acknowledged, so that writes continue while one broker is down. The brokers' default
  // can be more than there are replicas.
  const safety = { 'min.insync.replicas': String(Math.max(1, replication - 1)) };
  const topics = missing.map((spec) => ({
    topic: spec.name,
    partitions: spec.partitions,
    replication,
    settings: {
      ...SETTINGS,
      ...(spec.compacted === true && COMPACTED_SETTINGS),
      ...(!isState(spec) && RECORD_SETTINGS),
      ...(spec.keepsRecords === true && KEPT_SETTINGS),
      ...safety,
      ...settings[spec.name],
    },
  }));
  const [{ name: first } = { name: '' }] = missing;
  try {
    await cluster.ask(createTopicsRequest, { topics, validateOnly });
  } catch (error) {
    // Kafka also counts a broker that is down but registered.
    if (isAnswer(error, 'INVALID_REPLICATION_FACTOR')) refuseCopies(cluster, first, replication, error);
    refuse(error, first, "can't be created");
  }
}

function refuseCopies(cluster: Cluster, topic: string, replication: number, cause: unknown): never {
  const up = cluster.nodes.size;
  if (up >= replication) refuse(cause, topic, "can't be created");
  const reason =
    `can't have ${replication} replicas: only ${up === 1 ? 'one broker is' : `${up} brokers are`} reachable. ` +
    `Start more brokers, or lower topics.replication to ${up}.`;
  throw new TopicMismatchError({ topic, reason }, { cause });
}

/**
 * Throws a `TopicMismatchError` with the brokers' reason for each topic that they name (`topic` if they name none). Throws `error` itself unless it
 * is a final refusal.
 */
function refuse(error: unknown, topic: string, what: string): never {
  const [first, ...others] = [...chain(error)].flatMap((each): TopicMismatch[] => {
    if (each.type === undefined || passes(each)) return [];
    return [{ topic: each.topic ?? topic, reason: `${what}: ${refusalText(each)}` }];
  });
  if (first === undefined || passes(error)) throw error;
  throw new TopicMismatchError({ ...first, others }, { cause: error });
}

/** True for a lane's state, which never loses its start. Another compacted topic may have had retention before it was compacted. */
function isState({ compacted = false, fixedPartitions = false }: NewTopicSpec): boolean {
  return compacted && !fixedPartitions;
}

function requestsLast(a: TopicSpec, b: TopicSpec): number {
  return Number(a.name.endsWith('.requests')) - Number(b.name.endsWith('.requests'));
}
