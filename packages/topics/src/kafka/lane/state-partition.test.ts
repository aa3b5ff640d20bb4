import { expect, it } from 'vitest';
import { TopicLostError } from '../../topic-errors.ts';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { stored } from '../wire/any-batch.fixture.ts';
import { StatePartition } from './state-partition.ts';

const STATE = { topic: 'state', partition: 0 };
const OFFSET_OUT_OF_RANGE = 1;

/** A partition whose records have the keys `keys`, from the offset `log.start` on. Brokers have deleted those before it. */
function clusterOf(log: { start: number }, keys: readonly string[]): FakeCluster {
  return new FakeCluster(answersOf(log, keys));
}

function answersOf(log: { start: number }, keys: readonly string[]) {
  return (api: string, { which, offset = 0 }: { readonly which?: string; readonly offset?: number }) => {
    const end = log.start + keys.length;
    if (api === 'ListOffsets') return { answer: new Map([['state-0', which === 'earliest' ? log.start : end]]) };
    if (offset < log.start) return { refusals: [{ errorCode: OFFSET_OUT_OF_RANGE, ...STATE }], answer: new Map() };
    const batches = Buffer.concat(keys.slice(offset - log.start).map((key, index) => batchOf(offset + index, key)));
    return { answer: new Map([['state-0', { highWatermark: end, lastStable: end, aborted: [], batches }]]) };
  };
}

function batchOf(firstOffset: number, key: string): Buffer {
  return stored({
    firstOffset,
    lastOffsetDelta: 0,
    firstMs: 0n,
    maxMs: 0n,
    producerId: -1n,
    producerEpoch: -1,
    firstSequence: -1,
    isStamped: false,
    isTransactional: false,
    isControl: false,
    compression: 'none',
    records: [{ offsetDelta: 0, msDelta: 0n, key: Buffer.from(key), value: Buffer.from(String(firstOffset)), headers: [] }],
  });
}

it('state is read whole from a topic that begins after offset 0, because brokers have deleted older records', async () => {
  const cluster = clusterOf({ start: 5 }, ['a', 'b']);
  const state = new StatePartition(STATE);
  await state.readToEnd(cluster);
  expect([...state.reading(0)]).toEqual([
    ['a', '5'],
    ['b', '6'],
  ]);
});

it('state that has been read is lost if brokers then delete what comes next', async () => {
  const log = { start: 0 };
  const cluster = clusterOf(log, ['a', 'b']);
  const state = new StatePartition(STATE);
  await state.readToEnd(cluster);
  log.start = 5;
  await expect(state.readToEnd(cluster)).rejects.toThrow(TopicLostError);
});

it('state is read to its end from a new leader, which answers a Fetch before it knows what its predecessor committed', async () => {
  const answer = answersOf({ start: 0 }, ['a', 'b']);
  let fetches = 0;
  const cluster = new FakeCluster((api, options: never) => {
    if (api !== 'Fetch' || ++fetches > 1) return answer(api, options);
    return { answer: new Map([['state-0', { highWatermark: 0, lastStable: 0, aborted: [], batches: Buffer.alloc(0) }]]) };
  });
  const state = new StatePartition(STATE);
  await state.readToEnd(cluster);
  expect([...state.entries.keys()]).toEqual(['a', 'b']);
});
