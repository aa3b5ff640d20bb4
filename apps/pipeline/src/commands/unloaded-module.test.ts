import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import { asyncapi } from './asyncapi.ts';
import { cancel } from './cancel.ts';
import type { CommandContext } from './command-context.ts';
import { replay } from './dead-letters.ts';
import { enqueue } from './enqueue.ts';
import { read } from './read.ts';
import { schemaOfTopic } from './schema.ts';

describe('a module that cannot be loaded, with names for its topics,', () => {
  const broken = async () => {
    const cwd = await configFolder({
      'headgate.yaml': `topics: { driver: sqlite, file: ./headgate.db, names: { api.issues: issues } }\napi: { use: ./api.mjs }\n`,
      'api.mjs': "throw new Error('out of luck');\n",
    });
    await using log = await sqliteTopicLog({ file: `${cwd}/headgate.db` });
    await log.createTopics([{ name: 'issues', partitions: 1 }]);
    await log.append([{ topic: 'issues', key: 'a', value: '{"id":1}' }]);
    return cwd;
  };
  const outcome = async (command: (context: CommandContext) => Promise<number>) => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough().resume()];
    const written = text(stdout);
    const { signal } = new AbortController();
    const streams = { stdin, stdout, stderr, terminal: stderr };
    const clock = systemClock();
    try {
      await command({ ...streams, file: 'headgate.yaml', cwd: await broken(), env: {}, clock, signal, json: true });
    } finally {
      stdout.end();
    }
    return await written;
  };

  it('leaves existing topics readable, and other topics as a table', async () => {
    expect(await outcome(async (context) => await read({ topic: 'issues' }, context))).toContain('"value":{"id":1}');
    expect(await outcome(async (context) => await read({ topic: 'followers.ids', format: 'ndjson' }, context))).toBe('');
  });

  it.each<[string, (context: CommandContext) => Promise<number>]>([
    ['enqueue', async (context) => await enqueue('api', ['a'], [], context)],
    ['replay', async (context) => await replay({ of: 'api' }, context)],
    ['cancel', async (context) => await cancel('api', 'a', context)],
    ['schema --asyncapi', asyncapi],
    ['schema of its records', async (context) => await schemaOfTopic('issues', context)],
  ])('ends %s with the problem of the module alone', async (_, command) => {
    await expect(outcome(command)).rejects.toMatchObject({
      code: 'HEADGATE_CONFIG',
      problems: [{ key: 'api.use', message: expect.stringContaining("can't be loaded (line 1, column 7): out of luck.") as string }],
    });
  });
});
