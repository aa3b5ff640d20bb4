import { setTimeout as sleep } from 'node:timers/promises';
import { startKafkaBroker } from '@headgate/broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { describe, expect, it } from 'vitest';
import { workplace } from '../headgate-process.fixture.ts';
import { httpService } from '../http-service.fixture.ts';
import { type CommittedRecord, committed } from './committed.fixture.ts';
import { fleet } from './fleet.fixture.ts';
import { BECAUSE, WHY_NOT } from './kafka-place.fixture.ts';
import { plainKafka } from './kafkajs.fixture.ts';

const TOPIC = 'tracker.issues';
const KEYS = 10_000;
const RUNS = 5;
const PAGE = 500;
const HALVES = ['low', 'high'];

/** A service with `KEYS` records in two lists, all of them in the present version. */
async function issues() {
  const state = { version: 1, asked: 0 };
  const service = await httpService((request, response) => {
    state.asked += 1;
    const { pathname, searchParams } = new URL(request.url ?? '', 'http://localhost');
    const first = pathname === '/high' ? KEYS / 2 : 0;
    const from = first + (Number(searchParams.get('page')) - 1) * PAGE;
    const count = Math.max(0, Math.min(PAGE, first + KEYS / 2 - from));
    const body = Array.from({ length: count }, (_, i) => ({ id: from + i, version: state.version }));
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  return { state, url: service.url, [Symbol.asyncDispose]: async () => await service[Symbol.asyncDispose]() };
}

/** The table that a reader makes of a topic: the last value of each key. */
function tableOf(records: readonly CommittedRecord[]): ReadonlyMap<string | null, string | null> {
  return new Map(records.map(({ key, value }) => [key, value]));
}

function wanted(version: number): ReadonlyMap<string, string> {
  return new Map(Array.from({ length: KEYS }, (_, id) => [String(id), JSON.stringify({ id, version })]));
}

const sorted = (table: ReadonlyMap<string | null, string | null>): unknown => [...table].toSorted(([a], [b]) => Number(a) - Number(b));

describe.skipIf(WHY_NOT !== undefined)(`headgate run of a stream with compact on Kafka${BECAUSE}`, () => {
  it(
    `is refused by a topic that isn't compacted; then ${RUNS} runs, one of them killed, leave the newest record of each of ${KEYS} keys`,
    { timeout: 600_000 },
    async () => {
      await using broker = await startKafkaBroker({ settings: { 'log.cleaner.backoff.ms': '100' } });
      const { brokers } = broker;
      await using service = await issues();
      await using place = await workplace(`
topics:
  driver: kafka
  brokers: [${brokers.join(', ')}]
  replication: 1
  lanes: 2
  settings:
    ${TOPIC}: { segment.ms: 100, min.cleanable.dirty.ratio: 0.001, max.compaction.lag.ms: 100, delete.retention.ms: 0 }
status: false
tracker:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: one, bearer: first }, { name: two, bearer: second }]
  limit: { requests: 1000, window: 1s }
  streams:
    issues: { get: "/{half}", for: { half: [${HALVES.join(', ')}] }, key: $.id, compact: true, partitions: 3, pages: { page: { query: page } } }
`);
      await using log = await kafkaTopicLog({ brokers, replication: 1 });
      await log.createTopics([{ name: TOPIC, partitions: 3 }]);
      const refused = `Topic "${TOPIC}" has cleanup.policy=delete, but needs compact alone. Change it on the topic: kafka-configs.sh`;
      expect(await place.headgate('check')).toMatchObject({ code: 1, stdout: expect.stringContaining(refused) as string });
      const { code, stderr } = await place.headgate('run');
      expect([code, stderr, service.state.asked]).toEqual([1, expect.stringContaining(refused), 0]);
      expect(stderr).toContain(`--entity-name '${TOPIC}' --add-config cleanup.policy=compact`);
      const admin = plainKafka(brokers).admin();
      await admin.connect();
      await admin.deleteTopics({ topics: [TOPIC] });
      await admin.disconnect();

      await using crew = fleet({ folder: place.folder });
      for (let version = 1; version <= RUNS; version += 1) {
        service.state.version = version;
        const again = version === 1 ? [] : ['--again', 'tracker'];
        if (version === 3) {
          const killed = crew.start('run', ...again);
          for (const before = service.state.asked; service.state.asked < before + 8;) await sleep(5);
          killed.signal('SIGKILL');
          await killed.ended;
        }
        const run = await crew.start('run', ...again).ended;
        expect(run.code, run.stderr).toBe(0);
      }
      expect((await place.headgate('check')).stdout).not.toContain('segment.ms');

      const [topic] = await log.listTopics([TOPIC]);
      expect(topic).toMatchObject({ compacted: true, partitions: 3 });
      const written = topic?.offsets.reduce((sum, { end }) => sum + end, 0) ?? 0;
      expect(written).toBeGreaterThanOrEqual(RUNS * KEYS);
      // Brokers never compact the newest segment, so some older records can stay. The two readers of `committed` differ while records are deleted.
      const compacted = async (): Promise<readonly CommittedRecord[]> => {
        const records = await committed(brokers, TOPIC).catch(() => []);
        return records.length === 0 || records.length > 2 * KEYS ? [] : records;
      };
      await expect.poll(async () => (await compacted()).length, { interval: 1_000 }).toBeGreaterThanOrEqual(KEYS);
      expect(sorted(tableOf(await committed(brokers, TOPIC)))).toEqual(sorted(wanted(RUNS)));

      const read = await place.headgate('read', TOPIC, '--newest', '--values');
      const values = read.stdout.trimEnd().split('\n');
      expect(values.toSorted()).toEqual([...wanted(RUNS).values()].toSorted());
    },
  );
});
