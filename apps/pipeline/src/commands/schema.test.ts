import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@headgate/throttle';
import { Ajv2020 } from 'ajv/dist/2020.js';
import { expect, test } from 'vitest';
import { BOOKS, configFolder } from '../config/config-folder.fixture.ts';
import { recordJsonSchema } from '../records/schemas.ts';
import { schemaOfTopic } from './schema.ts';

async function schemaIn(files: Readonly<Record<string, string>>, topic: string): Promise<unknown> {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const { signal } = new AbortController();
  const stdin = new PassThrough();
  const cwd = await configFolder(files);
  const world = { file: 'headgate.yaml', cwd, env: {}, stdin, stdout, stderr, terminal: stderr, clock: systemClock(), signal, json: false };
  await schemaOfTopic(topic, world);
  stdout.end();
  return JSON.parse(await text(stdout));
}

test('of a built-in topic, even without a configuration', async () => {
  expect(await schemaIn({}, 'followers.ids')).toEqual({ title: 'followers.ids', ...recordJsonSchema('followers.ids') });
  expect(JSON.stringify(recordJsonSchema('followers.ids'))).not.toContain('9007199254740991');
});

test('of requests: the values that other clients may write', async () => {
  const schema = await schemaIn({}, 'followers.requests');
  expect(schema).toMatchObject({ properties: { screenName: { type: 'string' }, userId: { type: 'string' } } });
  const takes = new Ajv2020({ strict: false }).compile(schema as object);
  const verdicts = [{ screenName: '@a' }, { userId: '12' }, {}, { screenname: 'a' }, { userId: 'abc' }, { screenName: 'a', userId: '1' }];
  expect(verdicts.map((request) => takes(request))).toEqual([true, true, false, false, false, false]);
});

test('by its name on the log, even without secrets', async () => {
  const files = { 'headgate.yaml': `topics: { prefix: prod. }\n${BOOKS}` };
  for (const name of ['books.missing', 'prod.books.missing'])
    expect(await schemaIn(files, name)).toMatchObject({ title: 'prod.books.missing', required: ['isbn'] });
  await expect(schemaIn(files, 'books.state')).rejects.toThrow(
    /^schema: there is no topic "books\.state"\. There are: .*prod\.books\.records/,
  );
});
