import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type KafkaBroker,
  type SchemaRegistryServer,
  startKafkaBroker,
  startSchemaRegistry,
  whyNoKafkaBroker,
  whyNoSchemaRegistry,
} from '@headgate/broker';
import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { pythonWithKafka } from './consuming-python.fixture.ts';
import { type SharedKafkaPlace, sharedKafkaPlace } from './kafka-place.fixture.ts';
import { runOnLifeline } from './lifeline-command.fixture.ts';

const READ = fileURLToPath(new URL('read-by-registry.fixture.py', import.meta.url));
const REQUIREMENTS = ['confluent-kafka[schemaregistry,avro,json,protobuf]==2.16.1', 'grpcio-tools==1.85.1'];

const whyNot = (await whyNoKafkaBroker()) ?? (await whyNoSchemaRegistry());
const { python = '', why } = whyNot === undefined ? await pythonWithKafka(REQUIREMENTS) : { why: whyNot };
const because = why === undefined ? '' : `: skipped, ${why}`;

/** IDs from the highest on, beyond a signed 64-bit integer and a JavaScript number. */
const idsFrom = (first: bigint, count: number): readonly string[] => Array.from({ length: count }, (_, i) => String(first - BigInt(i)));
const FOLLOWERS = { alpha: idsFrom(2n ** 64n - 1n, 2_000), beta: idsFrom(2n ** 63n, 1_000) };
const USERS = {
  alpha: { followers: FOLLOWERS.alpha, pageSize: 50 },
  beta: { followers: FOLLOWERS.beta, pageSize: 50 },
};

interface Read {
  readonly topic: string;
  readonly key: string;
  readonly value: Readonly<Record<string, unknown>>;
}

describe.skipIf(why !== undefined)(`headgate run on Kafka with a schema registry${because}`, () => {
  let broker: KafkaBroker;
  let registry: SchemaRegistryServer;
  beforeAll(async () => {
    [broker, registry] = await Promise.all([startKafkaBroker(), startSchemaRegistry()]);
  }, 600_000);
  afterAll(async () => {
    await broker?.close();
    await registry?.[Symbol.asyncDispose]();
  });

  const placeWith = (format: string, more = ''): Promise<SharedKafkaPlace> =>
    sharedKafkaPlace(broker.brokers, {
      users: USERS,
      latencyMs: 20,
      topics: `, registry: { url: "${registry.url}" }`,
      more: `  count: 50\n  format: ${format}\n${more}`,
    });

  const readByPython = async (format: string, ...topics: readonly string[]): Promise<readonly Read[]> => {
    const command = [python, READ, registry.url, broker.brokers.join(','), format, ...topics];
    const { exitCode, lines, stderr } = await runOnLifeline({ command, folder: '/tmp' });
    expect(exitCode, stderr).toBe(0);
    return lines.map((line) => JSON.parse(line) as Read);
  };

  it.each(['avro', 'protobuf', 'json-schema'])(
    'killed three times, writes each record once as %s, and another client reads all of them with the digits that the service sent',
    { timeout: 900_000 },
    async (format) => {
      const isbns = [sampleIsbn(1), sampleIsbn(2)];
      await using books = await startBooks({ window: { limit: 1_000, windowMs: 1_000 } });
      const section = `books:\n  baseUrl: ${books.url}\n  plan: pro\n  key: any\n  isbns: [${isbns.map((isbn) => `"${isbn}"`).join(', ')}]\n  format: ${format}\n`;
      await using place = await placeWith(format, section);
      const { fleet, service, prefix } = place;
      for (let kills = 1; kills <= 3; kills += 1) {
        const run = fleet.start('run');
        while (service.requests.length < 10 * kills && run.running) await sleep(5);
        run.signal('SIGKILL');
        await run.ended;
      }
      const { code, stderr } = await fleet.start('run').ended;
      expect(code, stderr).toBe(0);

      const topics = ['followers.ids', 'followers.pages', 'followers.crawls', 'books.records'].map((topic) => prefix + topic);
      const read = Map.groupBy(await readByPython(format, ...topics), ({ topic }) => topic.slice(prefix.length));
      for (const [user, ids] of Object.entries(FOLLOWERS)) {
        const ofUser = (topic: string) =>
          read
            .get(topic)
            ?.filter(({ key }) => key === `@${user}`)
            .map(({ value }) => value) ?? [];
        expect(ofUser('followers.ids').map(({ id }) => id)).toEqual(ids);
        expect(ofUser('followers.pages').flatMap((page) => page['ids'])).toEqual(ids);
        expect(ofUser('followers.crawls')).toMatchObject([
          { state: 'started' },
          { state: 'completed', ids: ids.length, pages: ids.length / 50 },
        ]);
      }
      const records = read.get('books.records') ?? [];
      expect(records.map(({ value }) => value['isbn']).toSorted()).toEqual(isbns.toSorted());
      for (const { value } of records) {
        const { record } = value;
        expect(typeof record === 'string' ? JSON.parse(record) : record).toMatchObject({ isbn13: value['isbn'] });
      }

      // Headgate's own readers decode, too.
      const { stdout } = await place.work.headgate('read', 'followers.ids', '--values', '--key', '@alpha', '--max', '2');
      expect(
        stdout
          .split('\n')
          .slice(0, 2)
          .map((line) => (JSON.parse(line) as { id: string }).id),
      ).toEqual(FOLLOWERS.alpha.slice(0, 2));
      expect((await place.work.headgate('check')).stdout).toMatch(/registry http:\S+ +takes 7 schemas/);
    },
  );

  it('refuses an incompatible schema before the first request', { timeout: 300_000 }, async () => {
    await using place = await placeWith('avro');
    const subject = `${registry.url}/subjects/${place.prefix}followers.ids-value/versions`;
    const schema = JSON.stringify({ type: 'record', name: 'FollowersIds', fields: [{ name: 'other', type: 'string' }] });
    const send = async (url: string, method: string, body: object) => {
      const headers = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
      const { status } = await fetch(url, { method, headers, body: JSON.stringify(body) });
      expect(status).toBe(200);
    };
    await send(subject, 'POST', { schema });
    await send(`${registry.url}/config/${place.prefix}followers.ids-value`, 'PUT', { compatibility: 'FULL' });
    for (const command of ['run', 'check']) {
      const { code, stdout, stderr } = await place.work.headgate(command);
      expect([code, stdout + stderr]).toEqual([
        1,
        expect.stringMatching(/isn't compatible with the earlier ones of \S+followers\.ids-value\. Change the schema/),
      ]);
    }
    expect(place.service.requests).toEqual([]);
  });

  it('goes on when the registry is killed, and the next run names it', { timeout: 600_000 }, async () => {
    await using place = await placeWith('avro', '  every: 1s\n');
    const run = place.fleet.start('run', '--follow');
    await expect.poll(() => place.service.requests.length).toBeGreaterThan(5);
    await registry.kill();
    await expect.poll(() => place.service.requests.length, { timeout: 120_000 }).toBeGreaterThan(120);
    run.signal('SIGTERM');
    expect((await run.ended).code).toBe(130);
    const { code, stderr } = await place.work.headgate('run');
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/The schema registry at \S+ can't be reached \(ECONNREFUSED\)\. Start it, or correct its address\./),
    ]);
    expect((await place.work.headgate('read', 'followers.ids', '--max', '1')).stderr).toContain("can't be reached");
  });
});
