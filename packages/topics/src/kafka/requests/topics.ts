import type { AnswerReader } from '../wire/answer-reader.ts';
import { type Answered, type Refusal, type Request, rights, topicRights } from './request.ts';

/** How long the controller waits for the change of topics to finish before it responds with an error, ms. */
const CHANGE_TIMEOUT_MS = 5_000;
/** Numbers of resource types in the protocol. */
const RESOURCES = { topic: 2, broker: 4 } as const;

export interface PartitionMetadata {
  readonly partitionId: number;
  /** Node ID of the leader; -1 if there is none. */
  readonly leader: number;
  readonly replicas: readonly number[];
}

export interface TopicMetadata {
  readonly topic: string;
  /** ID of the topic, a new one if the topic is recreated. */
  readonly topicId?: string | undefined;
  readonly topicErrorCode: number;
  readonly partitionMetadata: readonly PartitionMetadata[];
}

export interface Metadata {
  /** The brokers that the cluster considers alive. */
  readonly brokers: readonly { readonly nodeId: number; readonly host: string; readonly port: number; readonly rack: string }[];
  readonly controllerId: number;
  readonly topicMetadata: readonly TopicMetadata[];
}

/**
 * Reads metadata of the named topics, each with its own error code; null for all topics. The request never creates a topic.
 */
export const metadata: Request<{ readonly topics: readonly string[] | null }, Metadata> = {
  api: 'Metadata',
  key: 3,
  version: 11,
  isFlexible: true,
  to: 'any',
  needs: ({ topics }) => rights('topic', ['Describe'], topics ?? []),
  write: (body, { topics }) =>
    body
      // The topics are requested by name, so their IDs are zero.
      .array(topics, (topic) => body.int64(0).int64(0).string(topic).tags())
      // Create no topics, and don't list the operations that the user may perform.
      .boolean(false)
      .boolean(false)
      .tags(),
  read(from) {
    const throttleMs = from.int32();
    const brokers = from.array(() => {
      const broker = { nodeId: from.int32(), host: from.string(), port: from.int32(), rack: from.string() };
      from.tags();
      return broker;
    });
    // Skip the cluster's ID.
    from.string();
    const controllerId = from.int32();
    const topicMetadata = from.array(() => {
      const [topicErrorCode, topic, topicId] = [from.int16(), from.string(), from.uuid()];
      // Skip whether the topic is internal.
      from.boolean();
      const partitions = from.array(() => partitionMetadata(from));
      // Skip the operations.
      from.int32();
      from.tags();
      return { topic, topicId, topicErrorCode, partitionMetadata: partitions };
    });
    return { throttleMs, refusals: [], answer: { brokers, controllerId, topicMetadata } };
  },
};

function partitionMetadata(from: AnswerReader): PartitionMetadata {
  // Skip the partition's error code, such as for a missing leader. Only a caller that needs this leader fails, later.
  from.int16();
  const [partitionId, leader] = [from.int32(), from.int32()];
  // Skip the leader's epoch.
  from.int32();
  const replicas = from.array(() => from.int32());
  // Skip the replicas that are in sync, and those that are offline.
  from.array(() => from.int32());
  from.array(() => from.int32());
  from.tags();
  return { partitionId, leader, replicas };
}

/** Values of settings by name. */
export type Settings = ReadonlyMap<string, string>;

export interface DescribeConfigsOptions {
  readonly of: keyof typeof RESOURCES;
  /** Names of topics, or node IDs of brokers. A broker describes only itself. */
  readonly names: readonly string[];
  readonly settings: readonly string[];
}

export const describeConfigs: Request<DescribeConfigsOptions, ReadonlyMap<string, Settings>> = {
  api: 'DescribeConfigs',
  key: 32,
  version: 2,
  to: 'any',
  needs: ({ of, names }) => (of === 'topic' ? rights('topic', ['DescribeConfigs'], names) : rights('cluster', ['DescribeConfigs'], [''])),
  write: (body, { of, names, settings }) =>
    body
      .array(names, (described) => {
        body
          .uint8(RESOURCES[of])
          .string(described)
          .array(settings, (name) => body.string(name));
      })
      // Leave out synonyms, which are the settings of brokers that a topic's setting overrides.
      .boolean(false),
  read(from) {
    const throttleMs = from.int32();
    const refusals: Refusal[] = [];
    const answer = new Map<string, Settings>();
    from.array(() => {
      const errorCode = from.int16();
      // Skip the error message and the resource type.
      from.string();
      from.uint8();
      const topic = from.string();
      if (errorCode !== 0) refusals.push({ errorCode, topic });
      answer.set(topic, new Map(from.array(() => setting(from))));
    });
    return { throttleMs, refusals, answer };
  },
};

function setting(from: AnswerReader): [name: string, value: string] {
  const named: [string, string] = [from.string(), from.string()];
  // Skip whether the setting is read-only, its source, whether it is sensitive, and its synonyms.
  from.boolean();
  from.uint8();
  from.boolean();
  from.array(() => [from.string(), from.string(), from.uint8()]);
  return named;
}

export interface TopicToCreate {
  readonly topic: string;
  readonly partitions: number;
  readonly replication: number;
  readonly settings: Readonly<Record<string, string>>;
}

/** Creates topics. With `validateOnly`, brokers check the request, and change nothing. */
export const createTopics: Request<{ readonly topics: readonly TopicToCreate[]; readonly validateOnly: boolean }, void> = {
  api: 'CreateTopics',
  key: 19,
  version: 2,
  to: 'controller',
  needs: ({ topics }) => [...topicRights('Create', topics), ...rights('cluster', ['Create'], [''])],
  mayWait: () => true,
  write: (body, { topics, validateOnly }) =>
    body
      .array(topics, ({ topic, partitions, replication, settings }) => {
        body.string(topic).int32(partitions).int16(replication);
        // Without an assignment, the brokers choose where the replicas go.
        body.array([], () => undefined).array(Object.entries(settings), ([name, value]) => body.string(name).string(value));
      })
      .int32(CHANGE_TIMEOUT_MS)
      .boolean(validateOnly),
  read: topicRefusals,
};

/** Adds partitions to topics, up to the numbers in `partitions`. With `validateOnly`, brokers check the request, and change nothing. */
export const createPartitions: Request<
  { readonly topics: readonly { readonly topic: string; readonly partitions: number }[]; readonly validateOnly: boolean },
  void
> = {
  api: 'CreatePartitions',
  key: 37,
  version: 0,
  to: 'controller',
  needs: ({ topics }) => topicRights('Alter', topics),
  mayWait: () => true,
  write: (body, { topics, validateOnly }) =>
    body
      // Without an assignment (-1), the brokers choose where the replicas go.
      .array(topics, ({ topic, partitions }) => body.string(topic).int32(partitions).int32(-1))
      .int32(CHANGE_TIMEOUT_MS)
      .boolean(validateOnly),
  read: topicRefusals,
};

const INVALID_CONFIG = 40;

function topicRefusals(from: AnswerReader): Answered<void> {
  const throttleMs = from.int32();
  const codes = from.array(() => {
    const [topic, errorCode, text] = [from.string(), from.int16(), from.string()];
    // Only the broker knows which setting is invalid. Other errors have texts of our own.
    return { topic, errorCode, ...(errorCode === INVALID_CONFIG && text !== '' && { text }) };
  });
  return { throttleMs, refusals: codes.filter(({ errorCode }) => errorCode !== 0), answer: undefined };
}
