import { expect, test } from 'vitest';
import type { Cluster } from '../client/cluster.ts';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import type { Broker } from '../client/send-request.ts';
import { LaneLog } from './lane-log.ts';

const STATE = { topic: 'state', partition: 0 };
const INCARNATION = 'this process';

/** A partition whose first record is an aborted holder record of this process, and whose later ones are committed. */
class StateCluster extends FakeCluster {
  readonly nonces: readonly string[];

  constructor(nonces: readonly string[]) {
    super((api, { which }: { readonly which?: string }) =>
      api === 'ListOffsets' ? { answer: new Map([['state-0', which === 'earliest' ? 0 : 2 * nonces.length]]) } : { answer: new Map() },
    );
    this.nonces = nonces;
  }

  override findTopicPartitionMetadata() {
    return [{ partitionId: 0, leader: 0 }] as unknown as ReturnType<Cluster['findTopicPartitionMetadata']>;
  }

  override async findBroker(): Promise<Broker> {
    const fetch = async ({
      topics: [
        {
          partitions: [{ fetchOffset }],
        },
      ],
    }: FetchOptions) => {
      const messages = this.nonces
        .flatMap((nonce, i) => [
          { ...message(2 * i, i), key: '$lane/lane/holder', value: JSON.stringify({ incarnation: INCARNATION, nonce }) },
          { ...message(2 * i + 1, i), key: Buffer.from([0, 0, 0, i === 0 ? 0 : 1]), value: '', isControlRecord: true },
        ])
        .map(({ key, value, ...rest }) => ({ ...rest, key: Buffer.from(key), value: Buffer.from(value) }))
        .filter(({ offset }) => Number(offset) >= Number(fetchOffset));
      const end = String(2 * this.nonces.length);
      const abortedTransactions = Number(fetchOffset) > 0 ? [] : [{ producerId: '0', firstOffset: '0' }];
      const partition = { partition: 0, errorCode: 0, highWatermark: end, lastStableOffset: end, abortedTransactions, messages };
      return await Promise.resolve({ responses: [{ topicName: 'state', partitions: [partition] }] });
    };
    return await Promise.resolve({ fetch } as object as Broker);
  }
}

interface FetchOptions {
  readonly topics: readonly [{ readonly partitions: readonly [{ readonly fetchOffset: number | string }] }];
}

function message(offset: number, producer: number) {
  const batchContext = { producerId: String(producer), inTransaction: true, firstOffset: String(offset), lastOffsetDelta: 0 };
  return { offset: String(offset), timestamp: '0', isControlRecord: false, batchContext };
}

test('a take whose record another process aborted can be repeated', async () => {
  const nonces = ['first'];
  const cluster = new StateCluster(nonces);
  const client: Pick<ReconnectingClient<Cluster>, 'once'> = { once: async (work) => await work(cluster) };
  const log = new LaneLog({
    lane: { name: 'lane', state: STATE },
    incarnation: INCARNATION,
    client: client as ReconnectingClient<Cluster>,
  });
  await expect(log.readTo('first')).rejects.toThrow('aborted');
  nonces.push('second');
  await log.readToEnd();
  expect(log.holder?.nonce).toBe('second');
});
