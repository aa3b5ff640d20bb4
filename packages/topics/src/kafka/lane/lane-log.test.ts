import { expect, test } from 'vitest';
import type { Cluster } from '../client/cluster.ts';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { stored } from '../wire/any-batch.fixture.ts';
import { LaneLog } from './lane-log.ts';

const STATE = { topic: 'state', partition: 0 };
const INCARNATION = 'this process';

/** A partition whose first record is an aborted holder record of this process, and whose later ones are committed. */
function stateCluster(nonces: readonly string[]): Cluster {
  return new FakeCluster((api, { which, offset = 0 }: { readonly which?: string; readonly offset?: number }) => {
    const end = 2 * nonces.length;
    if (api === 'ListOffsets') return { answer: new Map([['state-0', which === 'earliest' ? 0 : end]]) };
    const batches = Buffer.concat(nonces.flatMap((nonce, i) => holderBatches(i, nonce)).slice(offset));
    const aborted = offset > 0 ? [] : [{ producerId: '0', firstOffset: 0 }];
    return { answer: new Map([['state-0', { highWatermark: end, lastStable: end, aborted, batches }]]) };
  });
}

function holderBatches(i: number, nonce: string): readonly Buffer[] {
  const batch = (firstOffset: number, key: Buffer, value: string, isControl: boolean): Buffer =>
    stored({
      firstOffset,
      lastOffsetDelta: 0,
      firstMs: 0n,
      maxMs: 0n,
      producerId: BigInt(i),
      producerEpoch: 0,
      firstSequence: 0,
      isStamped: false,
      isTransactional: true,
      isControl,
      compression: 'none',
      records: [{ offsetDelta: 0, msDelta: 0n, key, value: Buffer.from(value), headers: [] }],
    });
  return [
    batch(2 * i, Buffer.from('$lane/lane/holder'), JSON.stringify({ incarnation: INCARNATION, nonce }), false),
    batch(2 * i + 1, Buffer.from([0, 0, 0, i === 0 ? 0 : 1]), '', true),
  ];
}

test('a take whose record another process aborted can be repeated', async () => {
  const nonces = ['first'];
  const cluster = stateCluster(nonces);
  const log = new LaneLog({ name: 'lane', state: STATE }, INCARNATION, cluster);
  await expect(log.readTo('first')).rejects.toThrow('aborted');
  nonces.push('second');
  await log.readToEnd();
  expect(log.holder?.nonce).toBe('second');
});
