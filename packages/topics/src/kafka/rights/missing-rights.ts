import { type MissingRight, MissingRightError } from '../../missing-right-error.ts';
import type { IntendedUse } from '../../topic-log.ts';
import { chain, verdictOf } from '../client/driver-errors.ts';
import type { Broker, Cluster } from '../client/broker.ts';
import { ConfigResourceTypes } from '../client/kafkajs-internals.ts';

/** Internals of kafkajs's broker that the probes use. */
interface ProbedBroker extends Broker {
  metadata(topics: readonly string[]): Promise<unknown>;
  heartbeat(options: { readonly groupId: string; readonly groupGenerationId: number; readonly memberId: string }): Promise<unknown>;
  describeGroups(options: { readonly groupIds: readonly string[] }): Promise<unknown>;
}

/** No topic has so many partitions, no group such a member, and no broker has given a producer this id: a permitted request still fails. */
const NO_PARTITION = 2_147_483_647;
const NO_MEMBER = 'headgate-looks-for-its-rights';
const NO_PRODUCER = '9223372036854775807';

/**
 * Finds the rights that the user lacks for its intended use. Brokers check rights before anything else in a request: each request here
 * names a partition, a member or a producer that can't exist, so that a permitted one does nothing.
 */
export async function missingRights(cluster: Cluster, use: IntendedUse): Promise<readonly MissingRight[]> {
  const broker = (await cluster.brokerPool.findConnectedBroker()) as ProbedBroker;
  const { topics = [], groups = [], lanes = [], appends = false } = use;
  const transactionalIds = [...lanes, ...(appends ? ['append-nothing'] : [])];
  const requests = [
    ...topics.flatMap((topic) => aboutTopic(broker, topic)),
    ...groups.flatMap((groupId) => [
      () => broker.describeGroups({ groupIds: [groupId] }),
      () => broker.heartbeat({ groupId, groupGenerationId: 0, memberId: NO_MEMBER }),
    ]),
    ...transactionalIds.flatMap((transactionalId) => [
      () => broker.describeTransaction({ transactionalId }),
      () => broker.endTxn({ transactionalId, producerId: NO_PRODUCER, producerEpoch: 0, transactionResult: false }),
    ]),
  ];
  return (await Promise.all(requests.map(refusedBy))).flat();
}

type ProbedTopic = NonNullable<IntendedUse['topics']>[number];

function aboutTopic(broker: ProbedBroker, { name: topic, reads = false, writes = false }: ProbedTopic): (() => Promise<unknown>)[] {
  const partition = NO_PARTITION;
  const fetched = { topic, partitions: [{ partition, fetchOffset: '0', maxBytes: 1 }] };
  return [
    () => broker.metadata([topic]),
    () => broker.describeConfigs({ resources: [{ type: ConfigResourceTypes.TOPIC, name: topic, configNames: ['cleanup.policy'] }] }),
    ...(reads ? [() => broker.fetch({ isolationLevel: 0, maxWaitTime: 0, minBytes: 0, maxBytes: 1, topics: [fetched] })] : []),
    ...(writes ? [() => broker.produceBatches({ transactionalId: null, topicPartitions: [{ topic, partition, batch: [] }] })] : []),
  ];
}

async function refusedBy(request: () => Promise<unknown>): Promise<readonly MissingRight[]> {
  try {
    await request();
  } catch (error) {
    if (error instanceof MissingRightError) return error.rights;
    const isAnswer = [...chain(error)].some(({ type }) => type !== undefined);
    if (!isAnswer && verdictOf(error) === 'passes') throw error;
  }
  return [];
}
