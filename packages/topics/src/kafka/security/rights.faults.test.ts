import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { LaneSpec, LaneWriter, TopicLog, TopicSpec } from '../../topic-log.ts';
import { committedRecords } from '../faults/committed-records.fixture.ts';
import { kafkaTopicLog } from '../index.ts';
import { type AclBroker, type Rights, startAclBroker } from './acl-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

interface Case {
  readonly user: string;
  readonly lacks: readonly Rights[];
  /** The rights that the first error names. */
  readonly told: string;
}

const on = (kind: Rights['on'], name: string, ...operations: Rights['operations']): Rights => ({ on: kind, name, operations });

const CASES: readonly Case[] = [
  {
    user: 'groupless',
    lacks: [on('group', 'groupless', 'Describe', 'Read')],
    told: 'Describe and Read on group groupless',
  },
  {
    user: 'joinless',
    lacks: [on('group', 'joinless', 'Read')],
    told: 'Read on group joinless',
  },
  {
    user: 'laneless',
    lacks: [on('id', 'laneless.*', 'Describe', 'Write')],
    told: 'Describe and Write on transactional id laneless.lane',
  },
  {
    user: 'fenceless',
    lacks: [on('id', 'fenceless.*', 'Write')],
    told: 'Write on transactional id fenceless.lane',
  },
  {
    user: 'writeless',
    lacks: [on('topic', 'writeless.ids', 'Write')],
    told: 'Write on topic writeless.ids',
  },
  {
    user: 'readless',
    lacks: [on('topic', 'readless.requests', 'Read')],
    told: 'Read on topic readless.requests',
  },
  {
    user: 'stateless',
    lacks: [on('topic', 'stateless.state', 'Describe', 'DescribeConfigs', 'Read', 'Write')],
    told: 'Describe on topic stateless.state',
  },
  {
    user: 'blind',
    lacks: [on('topic', 'blind.pages', 'DescribeConfigs'), on('topic', 'blind.ids', 'DescribeConfigs')],
    told: 'DescribeConfigs on topics blind.ids, blind.pages',
  },
  {
    user: 'silent',
    lacks: [on('id', 'append-*', 'Describe', 'Write')],
    told: 'Describe and Write on transactional id append-*',
  },
];

const OTHERS = ['revoked', 'maker'];

describe.skipIf(why !== undefined).concurrent(`rights on brokers${because}`, () => {
  let broker: AclBroker;
  beforeAll(async () => {
    broker = await startAclBroker({
      start: startKafkaBroker,
      users: [...CASES.map(({ user }) => user), ...OTHERS],
    });
    await using all = await kafkaTopicLog({ brokers: broker.own, replication: 1 });
    await all.createTopics([...CASES.map(({ user }) => user), 'revoked'].flatMap(specsOf));
  });
  afterAll(() => broker?.[Symbol.asyncDispose]());

  function open(user: string): Promise<TopicLog> {
    return kafkaTopicLog({ brokers: broker.brokers, sasl: broker.sasl(user), clientId: user, replication: 1 });
  }

  it.for(CASES)(
    '$told: a missing right is named at once, and the same log works once it is granted',
    async ({ user, lacks, told }, { expect }) => {
      await broker.give(user, without(rightsOf(user), lacks));
      await using log = await open(user);
      const failure = await work(log, user).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ code: 'HEADGATE_MISSING_RIGHT', retryable: false });
      expect(String(failure)).toContain(`This user lacks ${told}. Grant it on the brokers`);
      await broker.give(user, lacks);
      // Brokers learn of a right a moment after it was granted.
      await expect.poll(() => work(log, user).catch(() => [])).toContain('asked');
      expect((await committedRecords(broker.own, `${user}.ids`)).map(({ value }) => value)).toContain('written');
    },
  );

  it('a right that is revoked while a lane works fails its transactions, and nothing is lost or duplicated', async ({ expect }) => {
    const user = 'revoked';
    await broker.give(user, rightsOf(user));
    const write = (lane: LaneWriter, value: string): Promise<void> =>
      lane.transaction((tx) => {
        tx.append(['pages', 'ids'].map((topic) => ({ topic: `${user}.${topic}`, partition: 0, key: null, value })));
        tx.checkpoint('at', value);
      });
    for (const right of [on('topic', `${user}.pages`, 'Write'), on('topic', `${user}.state`, 'Read', 'Write')]) {
      await using log = await open(user);
      const lane = await log.openLane(laneOf(user));
      const next = (): string => String(Number(lane.state.get('at') ?? -1) + 1);
      await write(lane, next());
      await broker.take(user, [right]);
      const writing = async (): Promise<void> => {
        for (;;) await write(lane, next());
      };
      await expect(writing()).rejects.toThrow(` on topic ${right.name}`);
      await broker.give(user, [right]);
    }
    await using log = await open(user);
    // Brokers learn of a right a moment after it was granted.
    const at = async (): Promise<number> => Number((await log.openLane(laneOf(user)).catch(() => undefined))?.state.get('at') ?? 0);
    await expect.poll(at).toBeGreaterThan(0);
    const written = Array.from({ length: (await at()) + 1 }, (_, index) => String(index));
    for (const topic of ['pages', 'ids'])
      expect((await committedRecords(broker.own, `${user}.${topic}`)).map(({ value }) => value)).toEqual(written);
  });

  it('a missing right to create topics or add partitions names every topic', async ({ expect }) => {
    const user = 'maker';
    const topics = ['a', 'b', 'c'].map((name) => ({ name: `${user}.${name}`, partitions: 1 }));
    await broker.give(user, [on('topic', `${user}.*`, 'Describe', 'DescribeConfigs')]);
    await using log = await open(user);
    const says = `This user lacks Create on topics maker.a, maker.b, maker.c. Grant it on the brokers (kafka-acls.sh --add), or create them yourself.`;
    for (const validateOnly of [true, false]) await expect(log.createTopics(topics, { validateOnly })).rejects.toThrow(says);
    await broker.give(user, [on('topic', `${user}.*`, 'Create')]);
    await expect
      .poll(() =>
        log.createTopics(topics).then(
          ({ created }) => created.length,
          () => 0,
        ),
      )
      .toBe(3);
    const larger = topics.map((topic) => ({ ...topic, partitions: 2 }));
    await expect(log.createTopics(larger)).rejects.toThrow('This user lacks Alter on topics maker.a, maker.b, maker.c.');
    expect((await log.listTopics(topics.map(({ name }) => name))).map(({ partitions }) => partitions)).toEqual([1, 1, 1]);
  });
});

const TOPICS = ['requests', 'pages', 'ids', 'state'] as const;

function specsOf(user: string): TopicSpec[] {
  return TOPICS.map((name) => ({ name: `${user}.${name}`, partitions: 1, compacted: name === 'state' }));
}

/** All rights that `work` needs, one entry per resource. */
function rightsOf(user: string): readonly Rights[] {
  return [
    ...TOPICS.map((name) => on('topic', `${user}.${name}`, 'Describe', 'DescribeConfigs', 'Read', 'Write')),
    on('group', user, 'Describe', 'Read'),
    on('id', `${user}.*`, 'Describe', 'Write'),
    on('id', 'append-*', 'Describe', 'Write'),
  ];
}

function without(all: readonly Rights[], lacks: readonly Rights[]): readonly Rights[] {
  return all.map((right) => {
    const lacking = lacks.flatMap(({ on: kind, name, operations }) => (kind === right.on && name === right.name ? operations : []));
    return { ...right, operations: right.operations.filter((operation) => !lacking.includes(operation)) };
  });
}

function laneOf(user: string): LaneSpec {
  const writes = ['pages', 'ids'].map((name) => ({ topic: `${user}.${name}`, partition: 0 }));
  return { name: `${user}.lane`, state: { topic: `${user}.state`, partition: 0 }, writes };
}

/** Uses the log in each way that needs rights. Resolves to the values that it read. */
async function work(log: TopicLog, user: string): Promise<readonly (string | null)[]> {
  await log.createTopics(specsOf(user));
  const topic = `${user}.requests`;
  const nothing = (): void => undefined;
  const told = { onAssigned: nothing, onUncertain: nothing, onFailed: nothing };
  const member = await log.joinGroup({ group: user, topics: [topic], agreement: 'same', ...told });
  try {
    await log.append([{ topic, partition: 0, key: null, value: 'asked' }]);
    const asked = new Set<string | null>();
    for await (const { value } of log.read({ topic })) asked.add(value);
    await using lane = await log.openLane(laneOf(user));
    await lane.transaction((tx) => {
      tx.append([{ topic: `${user}.ids`, partition: 0, key: null, value: 'written' }]);
      tx.commitOffset({ group: user, topic, partition: 0, nextOffset: 1 });
    });
    return [...asked];
  } finally {
    await member.leave();
  }
}
