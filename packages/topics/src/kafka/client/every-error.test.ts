import { describe, expect, it } from 'vitest';
import { describeGroup, findCoordinator, heartbeat, joinGroup, leaveGroup, syncGroup } from '../requests/groups.ts';
import { fetch } from '../requests/fetch.ts';
import { listOffsets, offsetCommit, offsetFetch } from '../requests/offsets.ts';
import type { Request } from '../requests/request.ts';
import { createPartitions, createTopics, describeConfigs, metadata } from '../requests/topics.ts';
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  describeProducers,
  endTxn,
  initProducerId,
  produce,
  transactionProtocol,
  txnOffsetCommit,
} from '../requests/transactions.ts';
import { driverError, passes } from './driver-errors.ts';
import { FakeCluster } from './fake-cluster.fixture.ts';

/** The codes after which the same request is sent again by `ask`: elsewhere, with fresh metadata, or to the same broker. */
const ELSEWHERE = [3, 5, 6, 9, 15, 16, 41, 56, 72, 74, 75, 100, 103, 108, 129];
const AGAIN = [14, 51];
/** The codes after which the work begins again, with new requests. The last two: another producer has the same transactional ID. */
const LATER = [1, 2, 7, 8, 13, 19, 20, 22, 25, 27, 34, 36, 37, 45, 46, 48, 49, 52, 59, 60, 70, 71, 78, 79, 88, 89, 120, 47, 90];
/** The codes of Kafka 4.3, and one that it doesn't have. */
const CODES = [...Array.from({ length: 135 }, (_, index) => index - 1).filter((code) => code !== 0), 32_000];
/** The codes that Kafka's own client repeats (org.apache.kafka.common.errors.RetriableException, 4.3.1). */
const REPEATED_BY_JAVA = [2, 3, 5, 6, 7, 9, 13, 14, 15, 16, 19, 20, 41, 51, 56, 70, 71, 72, 74, 75, 78, 88, 89, 100, 103];
/** Those of elections, of shares, and of fetches by topic ID. The driver sends no such request. */
const OF_OTHER_REQUESTS = [80, 83, 84, 106, 122, 123, 133];

const requests: Readonly<Record<string, Request<never, unknown>>> = {
  metadata,
  describeConfigs,
  createTopics,
  createPartitions,
  findCoordinator,
  describeGroup,
  joinGroup,
  syncGroup,
  heartbeat,
  leaveGroup,
  fetch,
  listOffsets,
  offsetFetch,
  offsetCommit,
  initProducerId,
  addPartitionsToTxn,
  addOffsetsToTxn,
  produce: produce[1],
  produceInProtocol2: produce[2],
  txnOffsetCommit: txnOffsetCommit[1],
  txnOffsetCommitInProtocol2: txnOffsetCommit[2],
  endTxn: endTxn[1],
  endTxnInProtocol2: endTxn[2],
  transactionProtocol,
  describeProducers,
};
/** Options of any of the requests. */
const options = {
  topicPartitions: [{ topic: 'pages', partition: 0 }],
  topics: [],
  names: [],
  of: 'group',
  name: '',
  transactionalId: 'lane',
  groupId: 'group',
};

/** Sends a request that brokers refuse once. Resolves to the verdict of the error that the caller gets, and how many requests were sent. */
async function outcomeOf(request: Request<never, unknown>, errorCode: number): Promise<readonly [verdict: string, requests: number]> {
  let sent = 0;
  const cluster = new FakeCluster(() => ({ answer: new Map(), refusals: sent++ === 0 ? [{ errorCode }] : [] }));
  const found = await cluster.ask(request, options as never).then(
    () => 'succeeds',
    (error: unknown) => (passes(error) ? 'passes' : 'final'),
  );
  return [found, sent];
}

function expected(code: number): readonly [verdict: string, requests: number] {
  if ([...ELSEWHERE, ...AGAIN].includes(code)) return ['succeeds', 2];
  return [LATER.includes(code) ? 'passes' : 'final', 1];
}

describe('every error code of a broker', () => {
  it.each(Object.keys(requests))('is final, or the request goes again or elsewhere: %s', async (name) => {
    const request = requests[name] ?? metadata;
    const found = await Promise.all(CODES.map(async (code) => [code, await outcomeOf(request, code)] as const));
    expect(found).toEqual(CODES.map((code) => [code, expected(code)]));
  });

  it('is repeated where Kafka’s own client repeats it', () => {
    expect(CODES.filter((code) => OF_OTHER_REQUESTS.includes(code) && expected(code)[0] !== 'final')).toEqual([]);
    expect(REPEATED_BY_JAVA.filter((code) => expected(code)[0] === 'final')).toEqual([]);
  });

  it('is named in the message, and by its number if the driver doesn’t know its name', async () => {
    const textOf = async (code: number): Promise<string> =>
      await new FakeCluster(() => ({ refusals: [{ errorCode: code }] })).ask(metadata, { topics: [] }).then(
        () => '',
        (error: unknown) => (driverError(error) as Error).message,
      );
    expect(await textOf(10)).toMatch(/\(MESSAGE_TOO_LARGE\)\. The broker logs may say more\.$/u);
    expect(await textOf(68)).toMatch(/\(NON_EMPTY_GROUP\)/u);
    expect(await textOf(113)).toMatch(/: Unknown error code 113 \(see "Error Codes" of Kafka's protocol\)\./u);
  });
});
