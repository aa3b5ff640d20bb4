import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import type { LaneSpec, TopicLog, TopicSpec } from '../../topic-log.ts';
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

  function open(user: string, options: Partial<Parameters<typeof kafkaTopicLog>[0]> = {}): Promise<TopicLog> {
    return kafkaTopicLog({ brokers: broker.brokers, sasl: broker.sasl(user), clientId: user, replication: 1, ...options });
  }

  it.for(CASES)(
    '$told: a missing right is named at once, and waited for with onMissingRight',
    async ({ user, lacks, told }, { expect }) => {
      await broker.give(user, without(rightsOf(user), lacks));
      await using strict = await open(user);
      const failure = await work(strict, user).then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(failure).toMatchObject({ code: 'HEADGATE_MISSING_RIGHT', retryable: true });
      expect(String(failure)).toContain(`This user lacks ${told}. Grant it on the brokers`);

      const changes: AvailabilityChange[] = [];
      await using patient = await open(user, { onMissingRight: 'wait', onAvailability: (change) => changes.push(change) });
      const working = work(patient, user);
      await expect.poll(() => changes.at(-1)).toMatchObject({ available: false, refused: true });
      expect(changes[0]).toMatchObject({ reason: `this user lacks ${told}` });
      await broker.give(user, lacks);
      expect(await working).toEqual(['asked']);
      await expect.poll(() => changes.at(-1)).toEqual({ available: true });
      const ids = await committedRecords(broker.own, `${user}.ids`);
      expect(ids.map(({ value }) => value)).toEqual(['written']);
    },
  );

  it('a right that is revoked while a lane works is named and waited for, and nothing is lost or duplicated', async ({ expect }) => {
    const user = 'revoked';
    await broker.give(user, rightsOf(user));
    const changes: AvailabilityChange[] = [];
    await using log = await open(user, { onMissingRight: 'wait', onAvailability: (change) => changes.push(change) });
    const lane = await log.openLane(laneOf(user));
    const write = (value: string): Promise<void> =>
      lane.transaction((tx) => tx.append(['pages', 'ids'].map((topic) => ({ topic: `${user}.${topic}`, partition: 0, key: null, value }))));
    await write('0');
    for (const [i, right] of [on('topic', `${user}.pages`, 'Write'), on('topic', `${user}.state`, 'Read', 'Write')].entries()) {
      const { length } = changes;
      await broker.take(user, [right]);
      const writing = write(String(i + 1));
      await expect.poll(() => changes.length).toBeGreaterThan(length);
      expect(changes[length]).toMatchObject({ refused: true, reason: expect.stringContaining(` on topic ${right.name}`) });
      await broker.give(user, [right]);
      await writing;
      await expect.poll(() => changes.at(-1)).toEqual({ available: true });
    }
    for (const topic of ['pages', 'ids'])
      expect((await committedRecords(broker.own, `${user}.${topic}`)).map(({ value }) => value)).toEqual(['0', '1', '2']);
  });

  it('a missing right to create topics or add partitions names every topic, and they are created once it is granted', async ({
    expect,
  }) => {
    const user = 'maker';
    const topics = ['a', 'b', 'c'].map((name) => ({ name: `${user}.${name}`, partitions: 1 }));
    await broker.give(user, [on('topic', `${user}.*`, 'Describe', 'DescribeConfigs')]);
    await using strict = await open(user);
    const says = `This user lacks Create on topics maker.a, maker.b, maker.c. Grant it on the brokers (kafka-acls.sh --add), or create them yourself.`;
    for (const validateOnly of [true, false]) await expect(strict.createTopics(topics, { validateOnly })).rejects.toThrow(says);
    const changes: AvailabilityChange[] = [];
    await using patient = await open(user, { onMissingRight: 'wait', onAvailability: (change) => changes.push(change) });
    const making = patient.createTopics(topics);
    await expect
      .poll(() => changes)
      .toMatchObject([{ refused: true, reason: 'this user lacks Create on topics maker.a, maker.b, maker.c' }]);
    await broker.give(user, [on('topic', `${user}.*`, 'Create')]);
    expect((await making).created).toHaveLength(3);
    const larger = topics.map((topic) => ({ ...topic, partitions: 2 }));
    await expect(strict.createTopics(larger)).rejects.toThrow('This user lacks Alter on topics maker.a, maker.b, maker.c.');
    expect((await strict.listTopics(topics.map(({ name }) => name))).map(({ partitions }) => partitions)).toEqual([1, 1, 1]);
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
