import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest';
import { createTopics } from '../faults/committed-records.fixture.ts';
import { type Child, startChild } from '../../sqlite/child.fixture.ts';
import { letQueuesIdle } from '../faults/idle-queues.fixture.ts';
import { type GroupMembershipOptions, Member } from './member.ts';
import { quietCluster, quietKafka } from './quiet-kafka.fixture.ts';

const SESSION_MS = 6_000;
const PARTITIONS = 4;
const reason = await whyNoKafkaBroker();

describe.skipIf(reason !== undefined)(
  `members of a group${reason === undefined ? '' : ` (skipped: ${reason})`}`,
  { timeout: 600_000 },
  () => {
    let broker: KafkaBroker;
    let topics = 0;
    let topic = '';

    beforeAll(async () => {
      letQueuesIdle();
      broker = await startKafkaBroker();
    });
    afterAll(() => broker.close());

    /** Creates the topic of one test. Its group has the same name. */
    async function newTopic(): Promise<void> {
      topic = `requests-${++topics}`;
      await asAdmin(async (admin) => {
        await createTopics(admin, [{ topic, numPartitions: PARTITIONS }]);
      });
    }

    async function membersOf(group: string): Promise<Set<string>> {
      const { groups } = await asAdmin((admin) => admin.describeGroups([group]));
      return new Set(groups.flatMap(({ members }) => members.map(({ memberId }) => memberId)));
    }

    async function asAdmin<T>(work: (admin: ReturnType<ReturnType<typeof quietKafka>['admin']>) => Promise<T>): Promise<T> {
      const admin = quietKafka(broker.brokers).admin();
      await admin.connect();
      try {
        return await work(admin);
      } finally {
        await admin.disconnect();
      }
    }

    async function join(options: Partial<GroupMembershipOptions> = {}): Promise<LocalMember> {
      const told: number[][] = [];
      const failures: Error[] = [];
      const membership = new Member({
        log: quietCluster(broker.brokers),
        cluster: () => quietCluster(broker.brokers),
        group: topic,
        topics: [topic],
        agreement: 'same',
        sessionTimeoutMs: SESSION_MS,
        onUncertain: () => told.push([]),
        onAssigned: (partitions) => told.push(partitions.map(({ partition }) => partition)),
        onFailed: (error) => failures.push(error),
        ...options,
      });
      onTestFinished(() => membership.leave());
      await membership.joined;
      return { membership, told, failures, has: () => told.at(-1) ?? [] };
    }

    /** Creates clients that add the name of each request they send to `asked`. */
    function watched(asked: Set<string>): GroupMembershipOptions['cluster'] {
      return () => {
        const made = quietCluster(broker.brokers);
        const exchange = made.exchange.bind(made);
        made.exchange = async (to, request, options) => {
          asked.add(request.api);
          return await exchange(to, request, options);
        };
        return made;
      };
    }

    function process(agreement = 'same', ...more: readonly string[]): Child {
      const script = new URL('./member-process.fixture.ts', import.meta.url);
      // The fixture prints warnings itself.
      const spawn = { env: { ...globalThis.process.env, NODE_NO_WARNINGS: '1' } };
      return startChild({ script, spawn, args: [broker.brokers[0] ?? '', topic, topic, agreement, ...more] });
    }

    it('share the partitions, keep what they had, and hand over at once when they leave', async () => {
      await newTopic();
      // A session lasts longer than any wait of this test, so nothing here can be the result of a session that ended.
      const lasting = { sessionTimeoutMs: 90_000 };
      const first = await join(lasting);
      expect(first.has()).toEqual([0, 1, 2, 3]);

      const second = await join(lasting);
      await vi.waitFor(() => expect(first.has()).toEqual([0, 1]), { timeout: 240_000 });
      expect(second.has()).toEqual([2, 3]);

      const third = await join(lasting);
      expect(third.has()).toEqual([]);
      await vi.waitFor(() => expect(first.told.length).toBeGreaterThan(2), { timeout: 240_000 });
      expect([first.has(), second.has()]).toEqual([
        [0, 1],
        [2, 3],
      ]);
      const ids = [first, second, third].map(({ membership }) => membership.memberId);
      expect(await membersOf(topic)).toEqual(new Set(ids));

      const toldFirst = first.told.length;
      const leaving = performance.now();
      await first.membership.leave();
      await vi.waitFor(() => expect(third.has()).toEqual([0, 1]), { timeout: 240_000, interval: 10 });
      note(`leave() to the others having all: ${Math.round(performance.now() - leaving)} ms`);
      expect(second.has()).toEqual([2, 3]);
      expect(first.told).toHaveLength(toldFirst);
      expect(await membersOf(topic)).toEqual(new Set(ids.slice(1)));
    });

    it('get the partitions of one that was killed within a session', async () => {
      await newTopic();
      const victim = process();
      await victim.line('joined');
      const heir = await join();
      expect(heir.has()).toEqual([2, 3]);
      const killed = performance.now();
      await victim.kill();
      await vi.waitFor(() => expect(heir.has()).toEqual([0, 1, 2, 3]), { timeout: 240_000, interval: 20 });
      note(`kill -9 to the others having all: ${Math.round(performance.now() - killed)} ms`);
    });

    it('keep what they took over from a frozen one that resumes', async () => {
      await newTopic();
      const frozen = process();
      await frozen.line('joined');
      frozen.process.kill('SIGSTOP');
      const before = frozen.lines.length;
      const heirs = await Promise.all([join(), join()]);
      await vi.waitFor(() => expect(heirs.flatMap(({ has }) => has()).sort()).toEqual([0, 1, 2, 3]), { timeout: 240_000 });
      await vi.waitFor(() => expect(heirs.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });
      const taken = heirs.map(({ has }) => has());
      const joins = heirs[0]?.told.length ?? 0;
      await pause(4_000);

      frozen.process.kill('SIGCONT');
      await vi.waitFor(() => expect(heirs[0]?.told.length).toBeGreaterThan(joins), { timeout: 240_000 });
      await vi.waitFor(
        () => expect(frozen.lines.slice(before).map((line) => line.replace(/ \d+/, ''))).toEqual(['assigned ', 'assigned ']),
        { timeout: 240_000 },
      );
      expect(heirs.map(({ has }) => has())).toEqual(taken);
    });

    it('refuse one with another agreement, once members that only seem alive are gone', async () => {
      await newTopic();
      const dying = process('other');
      await dying.line('joined');
      await dying.kill();
      const first = await join();
      expect(first.has()).toEqual([0, 1, 2, 3]);

      const joins = first.told.length;
      await expect(join({ agreement: 'other' })).rejects.toMatchObject({
        code: 'HEADGATE_GROUP_DISAGREEMENT',
        message: expect.stringContaining(`"${topic}"`),
      });
      expect([first.told.length, first.failures]).toEqual([joins, []]);
    });

    it('with two agreements that start at once: one gets all partitions, the other is refused', async () => {
      await newTopic();
      const starts = await Promise.allSettled([
        join({ agreement: 'one' }),
        join({ agreement: 'one' }),
        join({ agreement: 'other' }),
        join({ agreement: 'other' }),
      ]);
      const agreed = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
      const refused = starts.flatMap((start) => (start.status === 'rejected' ? [start.reason as unknown] : []));
      expect(refused).toHaveLength(2);
      expect(starts[0]?.status).toBe(starts[1]?.status);
      for (const error of refused) expect(error).toMatchObject({ code: 'HEADGATE_GROUP_DISAGREEMENT' });
      await vi.waitFor(() => expect(agreed.flatMap(({ has }) => has()).sort()).toEqual([0, 1, 2, 3]), { timeout: 240_000 });
      await vi.waitFor(() => expect(agreed.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });
    });

    it('return with what they had after a broker outage that is shorter than a session', async () => {
      await newTopic();
      // The broker keeps the members for a session, which is longer than any wait of this test. They return as the same members.
      const sessionTimeoutMs = 90_000;
      const members = [await join({ sessionTimeoutMs }), await join({ sessionTimeoutMs })];
      await vi.waitFor(() => expect(members.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });
      const had = members.map(({ has }) => has());
      const ids = members.map(({ membership }) => membership.memberId);
      const told = members.map((member) => member.told.length);
      await broker.nodes[0]?.kill();
      await pause(5_000);
      await broker.nodes[0]?.start();
      // The two must join again for a third, so its first assignment shows that they have returned.
      const third = await join({ sessionTimeoutMs });
      expect(members.map(({ membership }) => membership.memberId)).toEqual(ids);
      expect(await membersOf(topic)).toEqual(new Set([...ids, third.membership.memberId]));
      await vi.waitFor(() => expect(members.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });
      expect(members.flatMap((member, at) => member.told.slice(told[at])).filter(({ length }) => length !== 2)).toEqual([]);
      expect(members.map(({ has }) => has())).toEqual(had);
    });

    it('have nothing during a long broker outage, share all when it is back, and can leave without it', async () => {
      await newTopic();
      const members = [await join(), await join()];
      await vi.waitFor(() => expect(members.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });
      await broker.nodes[0]?.kill();
      await vi.waitFor(() => expect(members.map(({ has }) => has())).toEqual([[], []]), { timeout: 240_000 });
      expect(members.map(({ membership }) => membership.memberId)).toEqual([undefined, undefined]);
      await pause(10_000);
      await broker.nodes[0]?.start();
      const back = performance.now();
      await vi.waitFor(() => expect(members.flatMap(({ has }) => has()).sort()).toEqual([0, 1, 2, 3]), { timeout: 240_000, interval: 20 });
      note(`broker back after 16 s to all having joined again: ${Math.round(performance.now() - back)} ms`);
      await vi.waitFor(() => expect(members.map(({ has }) => has().length)).toEqual([2, 2]), { timeout: 240_000 });

      await broker.nodes[0]?.kill();
      const leaving = performance.now();
      await Promise.all(members.map(({ membership }) => membership.leave()));
      note(`leave() without a broker: ${Math.round(performance.now() - leaving)} ms`);
      await broker.nodes[0]?.start();
      expect(members.flatMap(({ failures }) => failures)).toEqual([]);
    });

    it('read nothing and commit nothing, even if there are records', async () => {
      await newTopic();
      const producer = quietKafka(broker.brokers).producer();
      await producer.connect();
      const messages = Array.from({ length: 40 }, (_, index) => ({ value: String(index), partition: index % PARTITIONS }));
      await producer.send({ topic, messages });
      const asked = new Set<string>();
      const members = [await join({ cluster: watched(asked) }), await join({ cluster: watched(asked) })];
      await producer.send({ topic, messages });
      await pause(2_000);
      await Promise.all(members.map(({ membership }) => membership.leave()));
      await producer.disconnect();
      expect(asked).toContain('Heartbeat');
      expect(asked).not.toContain('Fetch');
      expect(asked).not.toContain('OffsetCommit');
      const [offsets] = await asAdmin((admin) => admin.fetchOffsets({ groupId: topic, topics: [topic] }));
      expect(offsets?.partitions.map(({ offset }) => offset)).toEqual(['-1', '-1', '-1', '-1']);
    });
  },
);

interface LocalMember {
  readonly membership: Member;
  readonly told: readonly number[][];
  readonly failures: readonly Error[];
  readonly has: () => readonly number[];
}

function note(text: string): void {
  globalThis.process.stderr.write(`${text}\n`);
}
