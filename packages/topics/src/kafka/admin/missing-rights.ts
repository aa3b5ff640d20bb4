import { type MissingRight, MissingRightError } from '../../missing-right-error.ts';
import type { RequiredAccess } from '../../topic-log.ts';
import type { Request } from '../requests/request.ts';
import type { Cluster } from '../client/cluster.ts';
import { fetch } from '../requests/fetch.ts';
import { READ_UNCOMMITTED } from '../requests/offsets.ts';
import { chain, verdictOf } from '../client/driver-errors.ts';
import { describeGroup, heartbeat } from '../requests/groups.ts';
import { topicMetadata } from '../client/topic-metadata.ts';
import { describeConfigs } from '../requests/topics.ts';
import { describeTransactions, endTxn, produce } from '../requests/transactions.ts';

/** A partition, a member and a producer that don't exist. A request that names one of them fails even if the user has the right. */
const NO_PARTITION = 2_147_483_647;
const NO_MEMBER = 'headgate-looks-for-its-rights';
const NO_PRODUCER = { producerId: '9223372036854775807', producerEpoch: 0 };

/**
 * Finds the rights that the user lacks for `use`. Brokers check rights first. Each request here either only describes something, or names a
 * partition, a member or a producer that doesn't exist, so that it changes nothing if it is permitted.
 */
export async function missingRights(cluster: Cluster, use: RequiredAccess): Promise<readonly MissingRight[]> {
  const { topics = [], groups = [], lanes = [], appends = false } = use;
  const transactionalIds = [...lanes, ...(appends ? ['append-nothing'] : [])];
  const broker = await cluster.anyBroker();
  const ask: Ask = (request, options) => () => cluster.ask(request, options, { broker });
  const requests = [
    ...topics.flatMap((topic) => [() => topicMetadata(cluster, [topic.name], broker), ...aboutTopic(ask, topic)]),
    ...groups.flatMap((groupId) => [ask(describeGroup, { groupId }), ask(heartbeat, { groupId, generationId: 0, memberId: NO_MEMBER })]),
    ...transactionalIds.flatMap((transactionalId) => [
      ask(describeTransactions, { transactionalId }),
      ask(endTxn[1], { transactionalId, ...NO_PRODUCER, transactionResult: false }),
    ]),
  ];
  return (await Promise.all(requests.map(refusedBy))).flat();
}

type Ask = <Options, Answer>(request: Request<Options, Answer>, options: Options) => () => Promise<unknown>;
type ProbedTopic = NonNullable<RequiredAccess['topics']>[number];

function aboutTopic(ask: Ask, { name: topic, reads = false, writes = false }: ProbedTopic): (() => Promise<unknown>)[] {
  const place = { topic, partition: NO_PARTITION };
  return [
    ask(describeConfigs, { of: 'topic', names: [topic], settings: ['cleanup.policy'] }),
    ...(reads ? [ask(fetch, { topicPartitions: [place], offset: 0, maxWaitMs: 0, maxBytes: 1, isolationLevel: READ_UNCOMMITTED })] : []),
    ...(writes ? [ask(produce[1], { transactionalId: null, topicPartitions: [{ ...place, batch: [] }] })] : []),
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
