import { createRequire } from 'node:module';
import { describe, expect, it } from 'vitest';
import { chain, driverError } from '../client/driver-errors.ts';
import { type RecordingBroker, recordingBroker } from '../client/recording-broker.fixture.ts';
import { AnswerReader } from '../wire/answer-reader.ts';
import { RequestWriter } from '../wire/request-writer.ts';
import { readPartitions } from './partition-answers.ts';
import { createPartitions, createTopics, metadata } from './topics.ts';
import { fetch } from './fetch.ts';
import { findCoordinator, heartbeat, joinGroup, leaveGroup, syncGroup } from './groups.ts';
import { offsetCommit, offsetFetch } from './offsets.ts';
import {
  addOffsetsToTxn,
  addPartitionsToTxn,
  endTxn,
  initProducerId,
  produce,
  transactionProtocol,
  txnOffsetCommit,
} from './transactions.ts';

const require = createRequire(import.meta.url);
const frame = require('kafkajs/src/protocol/request') as (options: object) => Promise<{ readonly buffer: Buffer }>;
const producer = { transactionalId: 'lane', producerId: '9007199254740993', producerEpoch: 7 };
const done = (body: RequestWriter) => body.int32(0).int16(0);

const nothing = (): void => undefined;

const FETCH = {
  topicPartitions: [{ topic: 'pages', partition: 3 }],
  offset: 2 ** 40,
  maxWaitMs: 100,
  maxBytes: 5_000,
  isolationLevel: 1,
} as const;
const JOIN = { groupId: 'group', memberId: 'member', sessionTimeoutMs: 6_000, protocol: 'sticky', metadata: Buffer.from('metadata') };
const SYNC = {
  groupId: 'group',
  memberId: 'member',
  generationId: 4,
  sessionTimeoutMs: 6_000,
  assignments: [{ memberId: 'member', assignment: Buffer.from('assignment') }],
};

function fetched(body: RequestWriter, code: number): RequestWriter {
  return body
    .int32(0)
    .int16(0)
    .int32(0)
    .array(['pages'], (topic) =>
      body.string(topic).array([3], (partition) =>
        body
          .int32(partition)
          .int16(code)
          .int64(9)
          .int64(8)
          .int64(0)
          .array([5], (offset) => body.int64(7).int64(offset))
          .int32(-1)
          .bytes([Buffer.from('batches')]),
      ),
    );
}

function joinedGroup(body: RequestWriter, code: number): RequestWriter {
  return body
    .int32(0)
    .int16(code)
    .int32(4)
    .string('sticky')
    .string('leader')
    .string('member')
    .array(['member'], (member) =>
      body
        .string(member)
        .string(null)
        .bytes([Buffer.from('metadata')]),
    );
}

/** The bytes in which kafkajs sends a request. */
async function kafkajsFrame(request: string, options: object): Promise<Buffer> {
  const encoded = (require(`kafkajs/src/protocol/requests/${request}/request`) as (options: object) => object)(options);
  return (await frame({ request: encoded, correlationId: 5, clientId: 'headgate' })).buffer;
}

describe('a request', () => {
  const topics = [
    { topic: 'pages', partitions: [0, 3] },
    { topic: 'state', partitions: [1] },
  ];
  const accepted = (body: RequestWriter) =>
    body
      .int32(0)
      .array(topics, ({ topic, partitions }) => body.string(topic).array(partitions, (partition) => body.int32(partition).int16(0)));
  const offsets = [
    { topic: 'pages', partition: 0, offset: 5 },
    { topic: 'pages', partition: 3, offset: 2 ** 40 },
    { topic: 'state', partition: 1, offset: 0 },
  ];

  it.each<{
    request: string;
    options: object;
    answer: (body: RequestWriter) => unknown;
    ask: (broker: RecordingBroker) => Promise<unknown>;
  }>([
    {
      request: 'initProducerId/v1',
      options: { transactionalId: 'lane', transactionTimeout: 60_000 },
      answer: (body) => done(body).int64('9007199254740993').int16(7),
      ask: (broker) => broker.ask(initProducerId, { transactionalId: 'lane', transactionTimeout: 60_000 }),
    },
    {
      request: 'addPartitionsToTxn/v1',
      options: { ...producer, topics },
      answer: accepted,
      ask: (broker) => broker.ask(addPartitionsToTxn, { ...producer, topicPartitions: offsets }),
    },
    {
      request: 'addOffsetsToTxn/v1',
      options: { ...producer, groupId: 'group' },
      answer: done,
      ask: (broker) => broker.ask(addOffsetsToTxn, { ...producer, groupId: 'group' }),
    },
    {
      request: 'txnOffsetCommit/v1',
      options: {
        ...producer,
        groupId: 'group',
        topics: topics.map(({ topic }) => ({ topic, partitions: offsets.filter((offset) => offset.topic === topic) })),
      },
      answer: accepted,
      ask: (broker) => broker.ask(txnOffsetCommit[1], { ...producer, groupId: 'group', topicPartitions: offsets }),
    },
    {
      request: 'endTxn/v1',
      options: { ...producer, transactionResult: true },
      answer: done,
      ask: (broker) => broker.ask(endTxn[1], { ...producer, transactionResult: true }),
    },
    {
      request: 'findCoordinator/v1',
      options: { coordinatorKey: 'lane', coordinatorType: 1 },
      answer: (body) => done(body).string(null).int32(1).string('broker').int32(9092),
      ask: (broker) => broker.ask(findCoordinator, { of: 'transaction', name: 'lane' }),
    },
    {
      request: 'heartbeat/v1',
      options: { groupId: 'group', groupGenerationId: 0, memberId: 'member' },
      answer: done,
      ask: (broker) => broker.ask(heartbeat, { groupId: 'group', generationId: 0, memberId: 'member' }),
    },
    {
      request: 'leaveGroup/v1',
      options: { groupId: 'group', memberId: 'member' },
      answer: done,
      ask: (broker) => broker.ask(leaveGroup, { groupId: 'group', memberId: 'member' }),
    },
  ])("is kafkajs's: $request", async ({ request, options, answer, ask }) => {
    const broker = recordingBroker({ version: 1, answer: (body) => void answer(body) });
    await ask(broker);
    expect(broker.requests).toEqual([await kafkajsFrame(request, options)]);
  });

  it.each<{
    request: string;
    version: number;
    options: object;
    answer: (body: RequestWriter) => unknown;
    ask: (broker: RecordingBroker) => Promise<unknown>;
  }>([
    {
      request: 'createTopics/v2',
      version: 2,
      options: {
        topics: [{ topic: 'pages', numPartitions: 3, replicationFactor: 2, configEntries: [{ name: 'retention.ms', value: '-1' }] }],
        validateOnly: true,
      },
      answer: (body) => body.int32(0).array(['pages'], (topic) => body.string(topic).int16(0).string(null)),
      ask: (broker) =>
        broker.ask(createTopics, {
          topics: [{ topic: 'pages', partitions: 3, replication: 2, settings: { 'retention.ms': '-1' } }],
          validateOnly: true,
        }),
    },
    {
      request: 'createPartitions/v0',
      version: 0,
      options: { topicPartitions: [{ topic: 'pages', count: 3 }] },
      answer: (body) => body.int32(0).array(['pages'], (topic) => body.string(topic).int16(0).string(null)),
      ask: (broker) => broker.ask(createPartitions, { topics: [{ topic: 'pages', partitions: 3 }], validateOnly: false }),
    },
    {
      request: 'fetch/v11',
      version: 11,
      options: {
        replicaId: -1,
        maxWaitTime: 100,
        minBytes: 1,
        maxBytes: 5_000,
        isolationLevel: 1,
        topics: [{ topic: 'pages', partitions: [{ partition: 3, fetchOffset: 2 ** 40, maxBytes: 5_000 }] }],
      },
      answer: (body) => fetched(body, 0),
      ask: (broker) => broker.ask(fetch, FETCH),
    },
    {
      request: 'joinGroup/v5',
      version: 5,
      options: {
        groupId: 'group',
        sessionTimeout: 6_000,
        rebalanceTimeout: 6_000,
        memberId: 'member',
        protocolType: 'consumer',
        groupProtocols: [{ name: 'sticky', metadata: Buffer.from('metadata') }],
      },
      answer: (body) => joinedGroup(body, 0),
      ask: (broker) => broker.ask(joinGroup, JOIN),
    },
    {
      request: 'syncGroup/v3',
      version: 3,
      options: {
        groupId: 'group',
        generationId: 4,
        memberId: 'member',
        groupAssignment: [{ memberId: 'member', memberAssignment: Buffer.from('assignment') }],
      },
      answer: (body) => done(body).bytes([Buffer.from('assignment')]),
      ask: (broker) => broker.ask(syncGroup, SYNC),
    },
    {
      request: 'offsetCommit/v3',
      version: 3,
      options: {
        groupId: 'group',
        groupGenerationId: -1,
        memberId: '',
        retentionTime: -1,
        topics: topics.map(({ topic }) => ({
          topic,
          partitions: offsets.filter((offset) => offset.topic === topic).map((each) => ({ ...each, metadata: '' })),
        })),
      },
      answer: accepted,
      ask: (broker) => broker.ask(offsetCommit, { groupId: 'group', topicPartitions: offsets }),
    },
  ])("is kafkajs's: $request", async ({ request, version, options, answer, ask }) => {
    const broker = recordingBroker({ version, answer: (body) => void answer(body) });
    await ask(broker);
    expect(broker.requests).toEqual([await kafkajsFrame(request, options)]);
  });

  it('returns the producer that it created', async () => {
    const broker = recordingBroker({ version: 1, answer: (body) => done(body).int64('9007199254740993').int16(7) });
    const made = await broker.ask(initProducerId, { transactionalId: 'lane', transactionTimeout: 1 });
    expect(made).toEqual({ producerId: '9007199254740993', producerEpoch: 7 });
  });
});

describe('a response to a fetch', () => {
  const ask = (answer: (body: RequestWriter) => unknown) =>
    recordingBroker({ version: 11, answer: (body) => void answer(body) }).ask(fetch, FETCH);

  it('has the ends of the partition, its aborted transactions and its batches', async () => {
    expect(await ask((body) => fetched(body, 0))).toEqual(
      new Map([
        ['pages-3', { highWatermark: 9, lastStable: 8, aborted: [{ producerId: '7', firstOffset: 5 }], batches: Buffer.from('batches') }],
      ]),
    );
  });

  it('names the topic that is refused, and refuses as a whole', async () => {
    await expect(ask((body) => fetched(body, 1))).rejects.toMatchObject({ code: 1, topic: 'pages' });
    await expect(ask((body) => body.int32(0).int16(6).int32(0).array([], nothing))).rejects.toMatchObject({ code: 6 });
  });

  it('can lack the partition only if the user’s quota is used up', async () => {
    const without = (throttleMs: number) => ask((body) => body.int32(throttleMs).int16(0).int32(0).array([], nothing));
    expect(await without(5)).toEqual(new Map());
    await expect(without(0)).rejects.toThrow('empty response to a fetch');
  });
});

describe('a response to a join', () => {
  const ask = (code: number) => recordingBroker({ version: 5, answer: (body) => void joinedGroup(body, code) }).ask(joinGroup, JOIN);
  const joined = {
    memberId: 'member',
    generationId: 4,
    leaderId: 'leader',
    members: [{ memberId: 'member', metadata: Buffer.from('metadata') }],
  };

  it('has the generation, and the members for their leader', async () => {
    expect(await ask(0)).toEqual({ ...joined, mustJoinAgain: false });
  });

  it('gives a newcomer its ID, and refuses others', async () => {
    expect(await ask(79)).toEqual({ ...joined, mustJoinAgain: true });
    await expect(ask(27)).rejects.toMatchObject({ code: 27 });
  });

  it('is followed by the assignment', async () => {
    const broker = recordingBroker({ version: 3, answer: (body) => void done(body).bytes([Buffer.from('assignment')]) });
    expect(await broker.ask(syncGroup, SYNC)).toEqual(Buffer.from('assignment'));
  });
});

describe("a group's offsets", () => {
  const UNSTABLE_OFFSET_COMMIT = 88;
  const asked = { groupId: 'group', topicPartitions: [{ topic: 'pages', partition: 0 }] };
  const brokerWith = (code: number) =>
    recordingBroker({
      version: 7,
      flexible: true,
      answer: (body) =>
        body
          .tags()
          .int32(0)
          .array(['pages'], (topic) =>
            body
              .string(topic)
              .array([0], (partition) => body.int32(partition).int64(4).int32(-1).string('').int16(code).tags())
              .tags(),
          )
          .int16(0)
          .tags(),
    });

  it('are requested with those of open transactions only if the caller asks for that (`require_stable`)', async () => {
    for (const showsPending of [true, false]) {
      const broker = brokerWith(0);
      await broker.ask(offsetFetch, { ...asked, showsPending });
      // The last byte ends the request: no tagged fields.
      expect(broker.requests[0]?.subarray(-2)).toEqual(Buffer.from([showsPending ? 1 : 0, 0]));
    }
  });

  it('are pending while an open transaction may commit them, which is no refusal as other errors are', async () => {
    expect(await brokerWith(0).ask(offsetFetch, asked)).toEqual(new Map([['pages-0', { offset: 4, isPending: false }]]));
    expect(await brokerWith(UNSTABLE_OFFSET_COMMIT).ask(offsetFetch, asked)).toEqual(
      new Map([['pages-0', { offset: 4, isPending: true }]]),
    );
    await expect(brokerWith(3).ask(offsetFetch, asked)).rejects.toMatchObject({ topic: 'pages', partition: 0, code: 3 });
  });
});

describe('a response about two partitions', () => {
  const asked = [
    { topic: 'pages', partition: 0, batch: [], offset: 1 },
    { topic: 'state', partition: 0, batch: [], offset: 1 },
  ];
  interface Answered {
    readonly topic: string;
    readonly code: number;
    readonly partition?: number;
  }
  /** By request name, a function that sends the request to a broker which gives these answers. */
  const requests: Readonly<Record<string, (answered: readonly Answered[]) => Promise<unknown>>> = {
    Produce: (answered) =>
      recordingBroker({
        version: 7,
        answer: (body) =>
          body
            .array(answered, ({ topic, partition = 0, code }) =>
              body.string(topic).array([partition], () => body.int32(partition).int16(code).int64(40).int64(-1).int64(0)),
            )
            .int32(0),
      }).ask(produce[1], { transactionalId: 'lane', topicPartitions: asked }),
    AddPartitionsToTxn: (answered) =>
      recordingBroker({ version: 1, answer: errors(answered) }).ask(addPartitionsToTxn, { ...producer, topicPartitions: asked }),
    TxnOffsetCommit: (answered) =>
      recordingBroker({ version: 1, answer: errors(answered) }).ask(txnOffsetCommit[1], {
        ...producer,
        groupId: 'group',
        topicPartitions: asked,
      }),
  };
  const errors = (answered: readonly Answered[]) => (body: RequestWriter) =>
    void body
      .int32(0)
      .array(answered, ({ topic, partition = 0, code }) => body.string(topic).array([partition], () => body.int32(partition).int16(code)));
  const names = Object.keys(requests);
  const refused = async (name: string, answered: readonly Answered[]): Promise<unknown> =>
    await requests[name]?.(answered).then(
      () => 'accepted',
      (error: unknown) => error,
    );

  it.each(names)('%s: the first offset of each batch, or nothing', async (name) => {
    const both = [
      { topic: 'state', code: 0 },
      { topic: 'pages', code: 0 },
    ];
    const value = name === 'Produce' ? 40 : undefined;
    expect(await requests[name]?.(both)).toEqual(
      new Map([
        ['state-0', value],
        ['pages-0', value],
      ]),
    );
  });

  it.each(names)('%s: throws the error of either one, with its topic', async (name) => {
    for (const topic of ['pages', 'state']) {
      const answered = asked.map((each) => ({ topic: each.topic, code: each.topic === topic ? 6 : 0 }));
      expect(await refused(name, answered)).toMatchObject({ type: 'NOT_LEADER_OR_FOLLOWER', topic });
    }
  });

  it.each(names)('%s: throws all errors, except those of partitions that weren’t attempted because of another', async (name) => {
    const types = (error: unknown) => Array.from(chain(error), ({ type, topic }) => type && `${topic} ${type}`).filter(Boolean);
    const both = await refused(name, [
      { topic: 'pages', code: 10 },
      { topic: 'state', code: 87 },
    ]);
    expect(types(both)).toEqual(['pages MESSAGE_TOO_LARGE', 'state INVALID_RECORD']);
    const one = await refused(name, [
      { topic: 'pages', code: 55 },
      { topic: 'state', code: 3 },
    ]);
    expect(types(one)).toEqual(['state UNKNOWN_TOPIC_OR_PARTITION']);
  });

  it.each(names)('%s: throws if a partition is missing or unexpected', async (name) => {
    const pages = { topic: 'pages', code: 0 };
    const state = { topic: 'state', code: 0 };
    for (const answered of [[], [pages], [pages, { ...state, partition: 1 }], [pages, state, { topic: 'other', code: 0 }]])
      expect(String(await refused(name, answered))).toMatch(/named pages-0, state-0, but the response names/u);
  });

  it.each(names)('%s: can be repeated if it is too early for all partitions, but not if it is too early for one', async (name) => {
    const early = { type: 'CONCURRENT_TRANSACTIONS' };
    const all = asked.map(({ topic }) => ({ topic, code: 51 }));
    expect(await refused(name, all)).not.toHaveProperty('topic');
    expect(await refused(name, all)).toMatchObject(early);
    const one = [
      { topic: 'pages', code: 51 },
      { topic: 'state', code: 0 },
    ];
    expect(await refused(name, one)).toMatchObject({ ...early, topic: 'pages' });
  });
});

it('has no value for a refused partition, which is requested again', () => {
  const asked = ['pages', 'state'].map((topic) => ({ topic, partition: 0 }));
  const body = new RequestWriter(false);
  body.array(asked, ({ topic, partition }) =>
    body.string(topic).array([partition], () => body.int32(partition).int16(topic === 'state' ? 6 : 0)),
  );
  const { answer, refusals } = readPartitions(new AnswerReader(Buffer.concat([...body.pieces]), false), asked, ({ topic }) => topic);
  expect([...answer]).toEqual([['pages-0', 'pages']]);
  expect(refusals).toEqual([{ topic: 'state', partition: 0, errorCode: 6 }]);
});

it('keeps the code of an error that kafkajs doesn’t know', async () => {
  const broker = recordingBroker({ version: 1, answer: (body) => void body.int32(0).int16(90) });
  await expect(broker.ask(endTxn[1], { ...producer, transactionResult: true })).rejects.toMatchObject({
    code: 90,
  });
});

describe('metadata', () => {
  const answer = (id: string) => (body: RequestWriter) => {
    const ints = (...values: readonly number[]): unknown => body.array(values, (value) => body.int32(value));
    body
      .tags()
      .int32(0)
      .array(['broker'], (host) => body.int32(1).string(host).int32(9092).string(null).tags())
      .string('cluster')
      .int32(1)
      .array(['pages'], (topic) => {
        body.int16(0).string(topic);
        for (const half of [0, 8]) body.int64(Buffer.from(id, 'base64url').readBigInt64BE(half).toString());
        body.boolean(false).array([0], (partition) => {
          body.int16(0).int32(partition).int32(1).int32(7);
          for (const nodes of [[1, 2], [1], [2]]) ints(...nodes);
          body.tags();
        });
        body.int32(0).tags();
      })
      .tags();
  };
  const ID = 'AAAAAAAAAAAAAAAAAAAAAQ';

  it.each([
    { id: ID, topicId: ID },
    { id: 'AAAAAAAAAAAAAAAAAAAAAA', topicId: undefined },
  ])('names the ID of each topic, if the topic has one: $topicId', async ({ id, topicId }) => {
    const broker = recordingBroker({ version: 99, flexible: true, answer: answer(id) });
    expect(await broker.ask(metadata, { topics: ['pages'] })).toEqual({
      brokers: [{ nodeId: 1, host: 'broker', port: 9092, rack: '' }],
      controllerId: 1,
      topicMetadata: [{ topic: 'pages', topicId, topicErrorCode: 0, partitionMetadata: [{ partitionId: 0, leader: 1, replicas: [1, 2] }] }],
    });
  });

  it('is requested for all topics, or for none', async () => {
    const body = async (topics: readonly string[] | null): Promise<string> => {
      const broker = recordingBroker({ version: 99, flexible: true, answer: answer(ID) });
      await broker.ask(metadata, { topics });
      // The first 23 bytes are the size, the API key and version, the correlation ID, the client's name, and a count of no tagged fields.
      return broker.requests[0]?.toString('hex', 23) ?? '';
    };
    // A null array or an empty one, then zeroes: create no topic, list no permitted operations, no tagged fields.
    expect([await body(null), await body([])]).toEqual(['00000000', '01000000']);
  });
});

describe('protocol 2', () => {
  const told = { version: 99, flexible: true };

  it('appends without announcing partitions, and reports the error of one of two partitions', async () => {
    const topicPartitions = [
      { topic: 'pages', partition: 0, batch: [Buffer.from('batch')] },
      { topic: 'state', partition: 1, batch: [] },
    ];
    const answering = (codes: Readonly<Record<string, number>>) =>
      recordingBroker({
        ...told,
        answer: (body) =>
          body
            .tags()
            .array(topicPartitions, ({ topic, partition }) =>
              body
                .string(topic)
                .array([partition], () =>
                  body
                    .int32(partition)
                    .int16(codes[topic] ?? 0)
                    .int64(topic.length)
                    .int64(-1)
                    .int64(0)
                    .array(['wrong', null], (message) => body.int32(7).string(message).tags())
                    .string('some records are wrong')
                    .tags(),
                )
                .tags(),
            )
            .int32(0)
            .tags(),
      });
    const request = { transactionalId: 'lane', topicPartitions };
    const broker = answering({});
    expect(Object.fromEntries(await broker.ask(produce[2], request))).toEqual({ 'pages-0': 5, 'state-1': 5 });
    expect(broker.requests[0]?.readInt16BE(6)).toBe(12);
    for (const topic of ['pages', 'state'])
      await expect(answering({ [topic]: 47 }).ask(produce[2], request)).rejects.toMatchObject({ type: 'INVALID_PRODUCER_EPOCH', topic });
  });

  it('returns the producer of the next transaction at the end of one; protocol 1 keeps the same', async () => {
    const answer = (body: RequestWriter): void => void done(body.tags()).int64('9007199254740995').int16(8).tags();
    const next = { producerId: '9007199254740995', producerEpoch: 8 };
    const end = { ...producer, transactionResult: true };
    expect(await recordingBroker({ ...told, answer }).ask(endTxn[2], end)).toEqual(next);
    const { producerId, producerEpoch } = producer;
    expect(await recordingBroker({ version: 99, answer: (body) => void done(body) }).ask(endTxn[1], end)).toEqual({
      producerId,
      producerEpoch,
    });
  });

  it.each([
    { features: [], protocol: 1 },
    { features: [{ name: 'transaction.version', level: 1 }], protocol: 1 },
    { features: [{ name: 'transaction.version', level: 2 }], protocol: 2 },
    {
      features: [
        { name: 'group.version', level: 7 },
        { name: 'transaction.version', level: 3 },
      ],
      protocol: 2,
    },
  ])('is what $features say: $protocol', async ({ features, protocol }) => {
    const levels = new RequestWriter(true);
    levels.array(features, ({ name, level }) => levels.string(name).int16(level).int16(0).tags());
    const field = Buffer.concat([...levels.pieces]);
    // Two tagged fields: the epoch of the finalized features (tag 1), and the features (tag 2).
    const tagged = Buffer.concat([Buffer.from([2, 1, 8, 0, 0, 0, 0, 0, 0, 0, 5, 2, field.length]), field]);
    const answer = (body: RequestWriter): void => {
      body
        .int16(0)
        .array([0, 1], (key) => body.int16(key).int16(0).int16(9).tags())
        .int32(0);
      for (const byte of tagged) body.uint8(byte);
    };
    expect(await recordingBroker({ ...told, answer }).ask(transactionProtocol, { transactionalId: 'lane' })).toBe(protocol);
  });

  it('is not requested from brokers older than Kafka 3.0, which are refused', async () => {
    const broker = recordingBroker({ version: 2, answer: () => undefined });
    const error: unknown = await broker.ask(transactionProtocol, { transactionalId: 'lane' }).catch((refusal: unknown) => refusal);
    expect(driverError(error)).toMatchObject({ message: expect.stringMatching(/Headgate needs Kafka 3\.0 or later\.$/u) });
    expect(broker.requests).toEqual([]);
  });
});
