import type { IncomingMessage } from 'node:http';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  type KafkaBroker,
  type SchemaRegistryServer,
  registryClientJars,
  startKafkaBroker,
  startSchemaRegistry,
  whyNoKafkaBroker,
  whyNoSchemaRegistry,
} from '@headgate/broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { SchemaRegistry } from '@kafkajs/confluent-schema-registry';
import avsc from 'avsc';
import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SECRETS } from '../headgate-process.fixture.ts';
import { type HttpService, httpService } from '../http-service.fixture.ts';
import { pythonWithKafka } from './consuming-python.fixture.ts';
import { type SharedKafkaPlace, sharedKafkaPlace } from './kafka-place.fixture.ts';
import { runOnLifeline } from './lifeline-command.fixture.ts';

const PYTHON_READER = fileURLToPath(new URL('read-by-registry.fixture.py', import.meta.url));
const JAVA_READER = fileURLToPath(new URL('read-by-registry.fixture.java', import.meta.url));
/** A Java that starts quickly. It compiles the reader itself. */
const JAVA = [process.env['JAVA_HOME'] ? `${process.env['JAVA_HOME']}/bin/java` : 'java', '-XX:TieredStopAtLevel=1', '-XX:+UseSerialGC'];
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

/** What the tracker sends, with IDs as digits. */
const ISSUES = idsFrom(2n ** 63n - 1n, 250).map((id, i) => ({ id, title: `issue ${i} ß😀`, open: i % 2 === 0, labels: ['a', ''] }));

const SCHEMAS: Readonly<Record<string, { readonly file: string; readonly text: string }>> = {
  avro: {
    file: 'issue.avsc',
    text: JSON.stringify({
      type: 'record',
      name: 'Issue',
      fields: [
        { name: 'id', type: 'long' },
        { name: 'title', type: 'string' },
        { name: 'open', type: 'boolean' },
        { name: 'labels', type: { type: 'array', items: 'string' } },
      ],
    }),
  },
  protobuf: {
    file: 'issue.proto',
    text: 'syntax = "proto3"; package tracker; message Issue { int64 id = 1; string title = 2; bool open = 3; repeated string labels = 4; }',
  },
  'json-schema': {
    file: 'issue.schema.json',
    text: JSON.stringify({
      type: 'object',
      properties: { id: { type: 'integer' }, title: { type: 'string' }, open: { type: 'boolean' } },
      required: ['id'],
    }),
  },
};

/** A service whose issues have IDs beyond 2^53, as JSON numbers. */
async function startTracker(): Promise<HttpService> {
  return await httpService((request, response) => {
    const from = Number(new URL(request.url ?? '', 'http://localhost').searchParams.get('from'));
    const issues = ISSUES.slice(from, from + 50).map((issue) => JSON.stringify(issue).replace(/"id":"(\d+)"/, '"id":$1'));
    const next = from + 50 < ISSUES.length ? `"/issues?from=${from + 50}"` : 'null';
    response.writeHead(200, { 'content-type': 'application/json' }).end(`{"issues":[${issues.join()}],"next":${next}}`);
  });
}

/** Returns the status with which a gateway refuses a request, or undefined to pass it on. */
type Gateway = () => Promise<number | undefined>;

/** A gateway in front of a registry. Its refusals repeat the password. */
async function startGateway(to: string, rule: Gateway): Promise<HttpService> {
  const answer = async (
    { url = '', method = '', headers }: IncomingMessage,
    body: string,
  ): Promise<readonly [status: number, body: string]> => {
    const refused = await rule();
    const message = `${SECRETS.TOKEN} and ${String(headers.authorization)} are wrong`;
    if (refused !== undefined) return [refused, JSON.stringify({ error_code: refused * 100, message })];
    const type = { 'content-type': 'application/vnd.schemaregistry.v1+json' };
    const passed = await fetch(to + url, { method, headers: type, ...(body !== '' && { body }) });
    return [passed.status, await passed.text()];
  };
  return await httpService((request, response) => {
    void text(request)
      .then(async (body) => await answer(request, body))
      .then(([status, body]) => response.writeHead(status).end(body));
  });
}

/** An Avro long as a bigint, as the documentation of avsc says. Without it, avsc refuses integers beyond 2^53. */
function exactLong(): avsc.types.LongType {
  return avsc.types.LongType.__with({
    fromBuffer: (bytes: Buffer) => bytes.readBigInt64LE(),
    toBuffer: () => Buffer.alloc(8),
    fromJSON: BigInt,
    toJSON: Number,
    isValid: (value: unknown) => typeof value === 'bigint',
    compare: () => 0,
  });
}

interface Read {
  readonly topic: string;
  readonly key: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Readonly<Record<string, unknown>>;
}

/** Parses a line of a reader. An integer that a JavaScript number can't keep becomes its digits. */
const parsed = (line: string): Read => {
  const exact = (_: string, value: unknown, { source }: { readonly source?: string }): unknown =>
    typeof value === 'number' && !Number.isSafeInteger(value) ? source : value;
  return JSON.parse(line, exact as never) as Read;
};

/** Reads all committed records of topics that the registry describes. */
type Reader = (format: string, topics: readonly string[]) => Promise<readonly Read[]>;

describe.skipIf(why !== undefined)(`headgate run on Kafka with a schema registry${because}`, () => {
  let broker: KafkaBroker;
  let registry: SchemaRegistryServer;
  let jars: string;
  beforeAll(async () => {
    [broker, registry, jars] = await Promise.all([startKafkaBroker(), startSchemaRegistry(), registryClientJars()]);
  }, 600_000);
  afterAll(async () => {
    await broker?.close();
    await registry?.[Symbol.asyncDispose]();
  });

  const placeWith = (format: string, more = '', options = `{ url: "${registry.url}" }`): Promise<SharedKafkaPlace> =>
    sharedKafkaPlace(broker.brokers, {
      users: USERS,
      latencyMs: 20,
      topics: `, registry: ${options}`,
      more: `  count: 50\n  format: ${format}\n${more}`,
    });

  const readBy =
    (...program: readonly string[]): Reader =>
    async (format, topics) => {
      const command = [...program, registry.url, broker.brokers.join(','), format, ...topics];
      const { exitCode, lines, stderr } = await runOnLifeline({ command, folder: '/tmp' });
      expect(exitCode, stderr).toBe(0);
      return lines.map(parsed);
    };

  const readByNode: Reader = async (_, topics) => {
    const client = new SchemaRegistry({ host: registry.url }, { AVRO: { registry: { long: exactLong() } } });
    await using log = await kafkaTopicLog({ brokers: broker.brokers });
    const read = async (topic: string): Promise<readonly Read[]> =>
      await Array.fromAsync(log.readBytes({ topic }), async ({ key, headers, value }) => ({
        topic,
        key: Buffer.from(key ?? []).toString(),
        headers: Object.fromEntries(Object.entries(headers).map(([name, bytes]) => [name, Buffer.from(bytes).toString()])),
        value: (await client.decode(Buffer.from(value ?? []))) as Read['value'],
      }));
    return (await Promise.all(topics.map(read))).flat();
  };

  it.each(['avro', 'protobuf', 'json-schema'])(
    'killed three times, writes each record once as %s, and other clients read all of them with the digits that the services sent',
    { timeout: 900_000 },
    async (format) => {
      const isbns = [sampleIsbn(1), sampleIsbn(2)];
      await using books = await startBooks({ window: { limit: 1_000, windowMs: 1_000 } });
      await using tracker = await startTracker();
      const sections = `books:
  baseUrl: ${books.url}
  plan: pro
  key: any
  isbns: [${isbns.map((isbn) => `"${isbn}"`).join(', ')}]
  format: ${format}
tracker:
  use: rest
  baseUrl: ${tracker.url}
  credentials: [{ name: anyone }]
  limit: { requests: 1000, window: 1s }
  format: ${format}
  streams:
    issues: { get: /issues, key: $.id, schema: ./${SCHEMAS[format]?.file}, pages: { next: $.next }, records: "$.issues[*]" }
`;
      await using place = await placeWith(format, sections);
      await place.work.write(SCHEMAS[format]?.file ?? '', SCHEMAS[format]?.text ?? '');
      const { fleet, service, prefix } = place;
      for (let kills = 1; kills <= 3; kills += 1) {
        const run = fleet.start('run');
        while (service.requests.length < 10 * kills && run.running) await sleep(5);
        run.signal('SIGKILL');
        await run.ended;
      }
      const { code, stderr } = await fleet.start('run').ended;
      expect(code, stderr).toBe(0);

      const names = ['followers.ids', 'followers.pages', 'followers.crawls', 'books.records', 'tracker.issues'];
      const readers: Readonly<Record<string, Reader>> = {
        Python: readBy(python, PYTHON_READER),
        Java: readBy(...JAVA, '-cp', jars, JAVA_READER),
        Node: readByNode,
      };
      const all = Object.entries(readers).map(async ([client, reader]) => {
        const records = await reader(
          format,
          names.map((name) => prefix + name),
        );
        const read = Map.groupBy(records, ({ topic }) => topic.slice(prefix.length));
        return [client, (topic: string) => read.get(topic) ?? []] as const;
      });
      for (const [client, of] of await Promise.all(all)) {
        for (const [user, ids] of Object.entries(FOLLOWERS)) {
          const ofUser = (topic: string) => of(topic).filter(({ key }) => key === `@${user}`);
          expect(
            ofUser('followers.ids').map(({ value }) => value['id']),
            client,
          ).toEqual(ids);
          const pages = ofUser('followers.pages');
          expect(
            pages.flatMap(({ value }) => value['ids']),
            client,
          ).toEqual(ids);
          for (const { value, headers } of pages)
            expect(headers, client).toEqual({
              ce_specversion: '1.0',
              ce_id: `${String(value['crawl'])}/${String(value['page'])}`,
              ce_source: '/followers',
              ce_type: 'headgate.followers.pages',
              'content-type': 'application/octet-stream',
            });
          expect(
            ofUser('followers.crawls').map(({ value }) => [value['state'], Number(value['ids']), Number(value['pages'])]),
            client,
          ).toEqual([
            ['started', 0, 0],
            ['completed', ids.length, ids.length / 50],
          ]);
        }
        expect(of('followers.ids'), client).toHaveLength(FOLLOWERS.alpha.length + FOLLOWERS.beta.length);
        const records = of('books.records');
        expect(records.map(({ key }) => key).toSorted(), client).toEqual(isbns.toSorted());
        for (const { key, value } of records) {
          const { isbn, record } = value;
          expect(isbn).toBe(key);
          expect(typeof record === 'string' ? JSON.parse(record) : record, client).toMatchObject({ isbn13: key });
        }
        const issues = of('tracker.issues');
        expect(
          issues.map(({ key }) => key),
          client,
        ).toEqual(ISSUES.map(({ id }) => id));
        // This client parses JSON by JSON.parse, which rounds long integers.
        const isRounded = client === 'Node' && format === 'json-schema';
        expect(
          issues.map(({ value }) => ({
            ...value,
            id: String(value['id']),
            open: value['open'],
            labels: [...(value['labels'] as string[])],
          })),
          client,
        ).toEqual(isRounded ? ISSUES.map((issue) => ({ ...issue, id: String(Number(issue.id)) })) : ISSUES);
      }

      // Headgate's own readers decode, too.
      const { stdout } = await place.work.headgate('read', 'followers.ids', '--values', '--key', '@alpha', '--max', '2');
      expect(
        stdout
          .split('\n')
          .slice(0, 2)
          .map((line) => (JSON.parse(line) as { id: string }).id),
      ).toEqual(FOLLOWERS.alpha.slice(0, 2));
      expect((await place.work.headgate('check')).stdout).toMatch(/registry http:\S+ +takes 9 schemas/);
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

  it('sends no request before a slow registry has answered', { timeout: 300_000 }, async () => {
    const answering = Promise.withResolvers<undefined>();
    let asked = 0;
    await using gateway = await startGateway(registry.url, async () => {
      asked += 1;
      return await answering.promise;
    });
    await using place = await placeWith('avro', '', `{ url: "${gateway.url}" }`);
    const run = place.work.begin('run');
    await expect.poll(() => asked).toBeGreaterThan(0);
    expect(place.service.requests).toEqual([]);
    answering.resolve(undefined);
    const { code, stderr } = await run.ended;
    expect(code, stderr).toBe(0);
    const read = await readBy(python, PYTHON_READER)('avro', [`${place.prefix}followers.ids`]);
    expect(read.map(({ value }) => value['id']).toSorted()).toEqual(Object.values(FOLLOWERS).flat().toSorted());
  });

  it.each<readonly [what: string, rule: Gateway, words: RegExp]>([
    ['refuses the password', async () => 401, /it refuses these credentials \(401\)\. Correct user and password/],
    [
      'refuses a schema',
      async () => 422,
      /it refuses the schema of \S+followers\.\w+-value\. Correct the schema\. It says: \*\*\* and Basic \*\*\* are wrong/,
    ],
    ['is overloaded', async () => 503, /it responded with status 503\. Try again later\. It says: \*\*\*/],
    ['never answers', async () => await new Promise(() => undefined), /sent no response within 10 s\. Start it, or correct its address\./],
  ])(
    'ends before its first request when the registry %s, with the cure and without a secret',
    { timeout: 300_000 },
    async (_, rule, words) => {
      await using gateway = await startGateway(registry.url, rule);
      await using place = await placeWith('avro', '', `{ url: "${gateway.url}", user: me, password: "\${TOKEN}" }`);
      for (const command of ['run', 'check']) {
        const { code, stdout, stderr } = await place.work.headgate(command);
        expect([code, stdout + stderr]).toEqual([1, expect.stringMatching(words)]);
        expect(stdout + stderr).not.toContain(SECRETS.TOKEN);
        expect(stdout + stderr).not.toContain(Buffer.from(`me:${SECRETS.TOKEN}`).toString('base64'));
      }
      expect(place.service.requests).toEqual([]);
    },
  );

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
