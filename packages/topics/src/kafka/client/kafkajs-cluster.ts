import type { Admin, Consumer, ConsumerConfig, KafkaConfig, Logger } from 'kafkajs';
import { answeredError } from './ask.ts';
import { withTransactions } from './transaction-requests.ts';
import { nameMissingRights } from '../rights/request-rights.ts';
import type { Cluster, FetchedMessage, FetchedPartition } from './broker.ts';
import { BaseCluster, EventEmitter, createAdmin, createConsumer, createLogger } from './kafkajs-internals.ts';
import { askBroker } from './metadata-request.ts';

export const READ_UNCOMMITTED = 0;
export const READ_COMMITTED = 1;
const LEADER_NOT_AVAILABLE = 5;
const NO_LEADER = -1;

/**
 * A controller that hears nothing of its brokers for a moment takes them for gone, and so they tell their clients, too. kafkajs repeats a request
 * for metadata that fails with this type; of an empty list it would believe that there are no brokers.
 */
class NoBrokerReadyError extends Error {
  override readonly name = 'NoBrokerReadyError';
  readonly type = 'LEADER_NOT_AVAILABLE';

  constructor() {
    super('no broker is ready: the one that was asked lists none');
  }
}

/**
 * kafkajs's own cluster with five changes. Without topics it requests metadata of none. A partition without a leader stops nobody but those
 * who need it; kafkajs takes the metadata of none of the topics then. An answer that lists no broker isn't taken. A refusal names the refused
 * resource. Where no broker knows the coordinator, it throws the reason, which kafkajs drops.
 */
class KafkajsCluster extends BaseCluster {
  constructor(options: object) {
    super(options);
    const { brokerPool } = this;
    const { createBroker } = brokerPool;
    brokerPool.createBroker = (brokerOptions) => {
      const broker = withTransactions(createBroker(brokerOptions));
      broker.metadata = async (topics = []) => {
        const answer = await askBroker(broker, topics);
        if (answer.brokers.length === 0) throw new NoBrokerReadyError();
        const refused = answer.topicMetadata.find(({ topicErrorCode }) => topicErrorCode !== 0);
        if (refused !== undefined) throw answeredError(refused.topicErrorCode);
        return answer;
      };
      nameMissingRights(broker);
      return broker;
    };
    const withBroker = brokerPool.withBroker.bind(brokerPool);
    brokerPool.withBroker = async (work) => {
      let failure: unknown;
      const answer = await withBroker((one) =>
        work(one).catch((error: unknown) => {
          failure = error;
          throw error;
        }),
      );
      if (answer === null && failure !== undefined) throw failure;
      return answer;
    };
  }

  override findLeaderForPartitions(topic: string, partitions: readonly number[]): Readonly<Record<string, readonly number[]>> {
    const byLeader = super.findLeaderForPartitions(topic, partitions);
    if (String(NO_LEADER) in byLeader) throw answeredError(LEADER_NOT_AVAILABLE, { topic });
    return byLeader;
  }
}

/** kafkajs's administration, and the cluster it works on. */
export interface ClusterAdmin extends Admin {
  readonly cluster: Cluster;
}

export function newAdmin(config: KafkaConfig): ClusterAdmin {
  const cluster = new KafkajsCluster(clusterOptions(config));
  return Object.assign(createAdmin({ logger: silentLogger(), retry: config.retry, cluster }), { cluster });
}

/** A connection of its own, for reading committed records. */
export function newCluster(config: KafkaConfig): Cluster {
  return new KafkajsCluster({ ...clusterOptions(config), maxInFlightRequests: null, isolationLevel: READ_COMMITTED });
}

/** kafkajs's own consumer. */
export function newConsumer(config: KafkaConfig, options: ConsumerConfig): Consumer {
  const instrumentationEmitter = new EventEmitter();
  const { metadataMaxAge, allowAutoTopicCreation } = options;
  const cluster = new KafkajsCluster({
    ...clusterOptions(config),
    instrumentationEmitter,
    isolationLevel: READ_COMMITTED,
    maxInFlightRequests: null,
    ...(metadataMaxAge !== undefined && { metadataMaxAge }),
    ...(allowAutoTopicCreation !== undefined && { allowAutoTopicCreation }),
  });
  const retry = { ...config.retry, ...options.retry };
  return createConsumer({ ...options, retry, logger: silentLogger(), cluster, isolationLevel: READ_COMMITTED, instrumentationEmitter });
}

/** The options of every cluster object of kafkajs. */
export function clusterOptions(config: KafkaConfig): object {
  return {
    connectionTimeout: 1_000,
    enforceRequestTimeout: true,
    ...config,
    logger: silentLogger(),
    metadataMaxAge: 30_000,
    allowAutoTopicCreation: false,
  };
}

/** Errors and `onAvailability` report everything that concerns the user. */
function silentLogger(): Logger {
  return createLogger({ level: 0, logCreator: () => () => undefined });
}

/** A record of a transaction that has ended, or of none. */
interface DecidedMessage {
  readonly message: FetchedMessage;
  readonly isAborted: boolean;
}

/**
 * The records of a fetched partition, from `offset` on. kafkajs's own filter shows aborted ones where transactions overlap: it takes them for
 * sorted by their beginning, and for no more than one beginning at a time.
 */
export function decidedMessages(offset: number, { messages, abortedTransactions }: FetchedPartition): readonly DecidedMessage[] {
  const coming = (abortedTransactions ?? []).toSorted((a, b) => Number(b.firstOffset) - Number(a.firstOffset));
  const aborted = new Set<string>();
  const decided: DecidedMessage[] = [];
  for (const message of messages) {
    const { producerId, inTransaction } = message.batchContext;
    for (let next = coming.at(-1); next !== undefined && Number(next.firstOffset) <= Number(message.offset); next = coming.at(-1)) {
      aborted.add(next.producerId);
      coming.pop();
    }
    if (message.isControlRecord) aborted.delete(producerId);
    else if (Number(message.offset) >= offset) decided.push({ message, isAborted: inTransaction && aborted.has(producerId) });
  }
  return decided;
}
