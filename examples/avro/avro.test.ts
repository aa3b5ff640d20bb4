import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { start } from '@headgate/pipeline';
import { startFollowers } from '@headgate/sandbox';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import avsc from 'avsc';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { unframed } from './confluent-avro.ts';
import { followersAvro } from './followers-avro.ts';
import { startRegistryEmulator } from './registry-emulator.ts';

let folder: string;
let log: TopicLog;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-avro-'));
  log = await sqliteTopicLog({ file: join(folder, 'log.db') });
});
afterEach(async () => {
  await log.close();
  await rm(folder, { recursive: true });
});

/** Reads a topic as a consumer with a registry does. It looks the schema up by the ID in each value. */
async function decoded(topicName: string, registry: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { value } of log.readBytes({ topic: topicName })) {
    const { id, avro } = unframed(value ?? new Uint8Array());
    const { schema } = (await (await fetch(`${registry}/schemas/ids/${id}`)).json()) as { readonly schema: string };
    // The detour over JSON removes the classes that avsc creates for records.
    found.push(JSON.parse(JSON.stringify(avsc.Type.forSchema(JSON.parse(schema) as avsc.Schema).fromBuffer(avro))));
  }
  return found;
}

test('pages and followers are Avro that a consumer decodes by the registry, which is asked once per schema', async () => {
  await using registry = await startRegistryEmulator();
  const ids = Array.from({ length: 12 }, (_, i) => String(2n ** 63n + BigInt(i)));
  await using service = await startFollowers({ users: { alpha: { followers: ids }, beta: { followers: ids.slice(0, 3) } } });
  const pipeline = followersAvro(registry.url)({ baseUrl: service.url, token: 'any', users: ['alpha', 'beta'] });
  await using running = await start({ log, pipelines: [pipeline], lanes: 1, validate: true });
  expect((await running.done).outcome).toBe('done');
  expect(registry.requests.toSorted()).toEqual([
    'POST /subjects/avro.followers-value/versions',
    'POST /subjects/avro.pages-value/versions',
  ]);
  const pages = await decoded('avro.pages', registry.url);
  expect(pages).toHaveLength(2);
  expect(pages).toEqual(expect.arrayContaining([{ user: 'beta', page: 1, ids: ids.slice(0, 3) }]));
  const followers = await decoded('avro.followers', registry.url);
  expect(followers).toHaveLength(15);
  expect(followers).toEqual(expect.arrayContaining(ids.map((id) => ({ user: 'alpha', id }))));
  const [record] = await Array.fromAsync(log.readBytes({ topic: 'avro.pages' }));
  expect(new TextDecoder().decode(record?.headers['content-type'])).toBe('application/avro');
});

test('a run whose registry is away, or refuses the schema, says so before it takes a lane', async () => {
  await using service = await startFollowers({ users: { alpha: { followers: 3 } } });
  const started = (registry: string): Promise<unknown> =>
    start({ log, pipelines: [followersAvro(registry)({ baseUrl: service.url, token: 'any', users: ['alpha'] })] });
  await expect(started(`${service.url}/no-registry`)).rejects.toThrow(/^avro\.(pages|followers): opening its serializer failed: /);
  await expect(started('http://127.0.0.1:1')).rejects.toMatchObject({
    code: 'HEADGATE_USER_FUNCTION',
    message: expect.stringMatching(/no schema registry answers at/),
  });
  expect(service.requests.filter(({ path }) => !path.startsWith('/subjects/'))).toEqual([]);
  expect(await log.listTopics()).toEqual([]);
});
