import { PassThrough } from 'node:stream';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import { asyncapi } from './asyncapi.ts';
import { cancel } from './cancel.ts';
import type { CommandContext } from './command-context.ts';
import { deadLetters, dismiss, replay } from './dead-letters.ts';
import { enqueue } from './enqueue.ts';
import { read } from './read.ts';
import { schemaOfTopic } from './schema.ts';

const YAML = `topics: { driver: sqlite, file: ./headgate.db, lanes: 2, names: { api.issues: issues } }
api:
  use: rest
  baseUrl: https://api.example.com
  credentials: [{ name: a, bearer: "\${TOKEN_A}" }, { name: b, bearer: "\${TOKEN_B}" }]
  limit: { requests: 5, window: 1s }
  streams:
    issues: { get: "/repos/{repo}/issues", for: { repo: [x] }, key: $.id }
`;
const ENV = { TOKEN_A: 'token-value-1', TOKEN_B: 'token-value-2' };
const enqueued = async (job: object, of: CommandContext) => await enqueue('api', [JSON.stringify(job)], [], of);

/** A log with two lanes and one job of a section with `use: rest`, and the context of a command for which a variable isn't set. */
async function place(yaml = YAML) {
  const cwd = await configFolder({ 'headgate.yaml': yaml });
  const stream = (): PassThrough => new PassThrough().resume();
  const streams = { stdin: stream(), stdout: stream(), stderr: stream(), terminal: stream() };
  const { signal } = new AbortController();
  const context = (env: CommandContext['env']): CommandContext => ({
    ...streams,
    file: 'headgate.yaml',
    cwd,
    env,
    clock: systemClock(),
    signal,
    json: false,
  });
  expect(await enqueued({ stream: 'issues', repo: 'a' }, context(ENV))).toBe(0);
  return {
    context: context({ TOKEN_A: ENV.TOKEN_A }),
    keys: async () => {
      await using log = await sqliteTopicLog({ file: `${cwd}/headgate.db` });
      return (await Array.fromAsync(log.read({ topic: 'api.requests' }))).map(({ key }) => key);
    },
  };
}

describe('a variable that is not set in a section with use: rest, whose streams define its jobs and topics,', () => {
  it.each<[string, (context: CommandContext) => Promise<number>]>([
    ['enqueue', async (context) => await enqueued({ stream: 'issues', repo: 'b' }, context)],
    ['enqueue of an invalid job', async (context) => await enqueued({ nonsense: 1 }, context)],
    ['replay', async (context) => await replay({ of: 'api' }, context)],
    ['replay --dry-run', async (context) => await replay({ of: 'api', dryRun: true }, context)],
    ['dismiss', async (context) => await dismiss({ of: 'api' }, context)],
    ['cancel', async (context) => await cancel('api', 'issues/a', context)],
    ['schema --asyncapi', asyncapi],
    ['schema of its jobs', async (context) => await schemaOfTopic('api.requests', context)],
    ['schema of its records', async (context) => await schemaOfTopic('issues', context)],
    ['read of a topic that is not in the log', async (context) => await read({ topic: 'api.walks' }, context)],
    ['read --format of its jobs', async (context) => await read({ topic: 'api.requests', format: 'ndjson' }, context)],
    ['read --format of its records', async (context) => await read({ topic: 'issues', format: 'ndjson' }, context)],
    [
      'read --format of its records by their default name',
      async (context) => await read({ topic: 'api.issues', format: 'ndjson' }, context),
    ],
  ])('ends %s with the problem of the section alone', async (_, command) => {
    const { context, keys } = await place();
    await expect(command(context)).rejects.toMatchObject({
      code: 'HEADGATE_CONFIG',
      problems: [{ key: 'api.credentials[1].bearer', message: expect.stringMatching(/^uses \$\{TOKEN_B\}, which isn't set/) as string }],
    });
    expect(await keys()).toEqual(['issues/a']);
  });

  it.each([
    ['names: { api.issues: api.list }', ['api.list', 'api.issues', 'api.requests']],
    ['prefix: api.', ['api.api.issues', 'api.issues', 'api.api.requests', 'api.requests']],
    ['prefix: api., names: { api.issues: other.list }', ['other.list', 'api.issues', 'api.api.requests']],
  ])('leaves its topics readable under both their names, with %s', async (naming, topics) => {
    const { context } = await place(YAML.replace('names: { api.issues: issues }', naming));
    for (const topic of topics) expect(await read({ topic }, context)).toBe(0);
  });

  it('leaves its dead letters and the topics in the log readable, and suggests other names', async () => {
    const { context } = await place();
    expect(await deadLetters({ of: 'api' }, context)).toBe(0);
    expect(await read({ topic: 'api.dead-letters', format: 'ndjson' }, context)).toBe(0);
    for (const topic of ['api.requests', 'issues', 'api.issues']) expect(await read({ topic }, context)).toBe(0);
    await expect(read({ topic: 'followers.idz' }, context)).rejects.toThrow('Did you mean followers.ids?');
  });
});
