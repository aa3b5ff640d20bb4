import { PassThrough } from 'node:stream';
import { bearer } from '@headgate/auth';
import { books } from '@headgate/sources/books';
import { followers } from '@headgate/sources/followers';
import { systemClock } from '@headgate/throttle';
import type { NewTopicSpec } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { ZodError } from 'zod';
import { ConfigError } from '../config/config-error.ts';
import { BOOKS, ENV, FOLLOWERS, configFolder, load } from '../config/config-folder.fixture.ts';
import { followersRequest } from '../records/requests.ts';
import { enqueue } from './enqueue.ts';
import { UsageError } from './usage-error.ts';

describe('a user is the same to the config, to enqueue, to the requests topic and to the library', () => {
  it.each([
    ['12', true],
    ['18446744073709551615', true],
    ['18446744073709551616', false],
    ['99999999999999999999', false],
    ['100000000000000000000', false],
    ['00012', false],
    ['0', false],
  ])('id %s: %s', async (userId, isOne) => {
    expect(await takenBy({ screenName: undefined, userId })).toEqual(everywhere(isOne));
  });

  it.each([
    ['alpha_1', true],
    ['00012', true],
    ['a'.repeat(50), true],
    ['a'.repeat(51), false],
    ['a-b', false],
    ['söhne', false],
  ])('name %s: %s', async (screenName, isOne) => {
    expect(await takenBy({ screenName, userId: undefined })).toEqual(everywhere(isOne));
  });
});

describe('an author is the same to the config, to enqueue and to the library', () => {
  it.each([
    ['Ada Brook', true],
    ['…', true],
    ['.a', true],
    ['', false],
    ['.', false],
    ['..', false],
    [' .. ', false],
    ['a'.repeat(1_000), true],
    ['a'.repeat(1_001), false],
  ])('%j: %s', async (author, isOne) => {
    await using api = books({ baseUrl: 'http://127.0.0.1:9', key: 'k', env: {} });
    expect({
      config: await taken(load(`${BOOKS}  authors: [${JSON.stringify(author)}]\n`, { env: ENV }), ConfigError),
      file: await taken(load(`${BOOKS}  authors: [{ file: a.txt }]\n`, { env: ENV, files: { 'a.txt': `Zoë\n${author}\n` } }), ConfigError),
      enqueue: await taken((await enqueued([], [author])).said, UsageError),
      library: await taken(
        Promise.try(() => api.authorPages(author)),
        Error,
      ),
      // An empty line of a file is skipped.
    }).toEqual({ config: isOne, file: isOne || author === '', enqueue: isOne, library: isOne });
  });

  it('an invalid author is named, and nothing is added', async () => {
    const { said, log } = await enqueued([], ['Ada Brook', '..']);
    await expect(said).rejects.toThrow(
      'enqueue: the author ".." is a relative path segment, which an address can\'t contain. Nothing was added.',
    );
    expect(await log()).toEqual([]);
  });
});

it('names the line of stdin that is not a request, and adds nothing', async () => {
  const { said, log } = await enqueued([], [], '@alpha\n\n# those of May\nbad line!\n');
  await expect(said).rejects.toThrow("enqueue: stdin, line 4: this isn't a screen name.");
  expect(await log()).toEqual([]);
});

it('suggests what an invalid id may have meant, and adds nothing', async () => {
  const { said, log } = await enqueued(['alpha', '00012']);
  await expect(said).rejects.toThrow(
    'enqueue: argument 2: "00012" isn\'t a user ID: an ID is at most 18446744073709551615, without leading zeros. If it is a screen name, write "@00012". Nothing was added.',
  );
  expect(await log()).toEqual([]);
});

it('gives requests for one user in several spellings one key, and requests each as spelled', async () => {
  const { said, log } = await enqueued(['Gamma', '@gamma', '12', 'id:12']);
  expect(await said).toBe(0);
  expect(await log()).toEqual([
    ['@gamma', '{"screenName":"Gamma"}'],
    ['@gamma', '{"screenName":"gamma"}'],
    ['12', '{"userId":"12"}'],
    ['12', '{"userId":"12"}'],
  ]);
});

it('warns like a run if it recreates the group state, of which no later run could warn', async () => {
  const told = await newPlace([{ name: 'followers.state', partitions: 1, compacted: true }]);
  expect(await told('alpha')).toMatch(
    /^Topic "headgate\.state" was missing, .* all entries of the lists run again\. .* restore it\.\n1 job added to followers\.requests\n$/u,
  );
  expect(await told('beta')).toBe('1 job added to followers.requests\n');
});

/** Creates a folder and a log with these topics. Resolves to a function that enqueues users and resolves to what `enqueue` prints. */
async function newPlace(topics: readonly NewTopicSpec[] = []): Promise<(...entries: readonly string[]) => Promise<string>> {
  const cwd = await configFolder({ 'headgate.yaml': `topics: { driver: sqlite, file: ./headgate.db }\n${FOLLOWERS}` });
  await using log = await sqliteTopicLog({ file: `${cwd}/headgate.db` });
  await log.createTopics(topics);
  return async (...entries) => {
    const stderr = new PassThrough({ encoding: 'utf8' });
    const streams = { stdin: new PassThrough(), stdout: new PassThrough(), stderr, terminal: stderr };
    const { signal } = new AbortController();
    await enqueue('followers', entries, [], {
      ...streams,
      file: 'headgate.yaml',
      cwd,
      env: ENV,
      clock: systemClock(),
      signal,
      json: false,
    });
    return String(stderr.read());
  };
}

type Named = { readonly screenName: string; readonly userId: undefined } | { readonly screenName: undefined; readonly userId: string };

function everywhere(taken: boolean) {
  return { config: taken, enqueue: taken, topic: taken, library: taken };
}

async function takenBy({ screenName, userId }: Named) {
  const [key, text] = screenName === undefined ? ['userId', userId] : ['screenName', screenName];
  await using api = followers({ baseUrl: 'http://127.0.0.1:9', credentials: [{ name: 'app', signer: bearer('t') }], env: {} });
  const user = screenName === undefined ? { userId } : { screenName };
  return {
    config: await taken(load(`${FOLLOWERS}  users: [{ ${key}: "${text}" }]\n`, { env: ENV }), ConfigError),
    enqueue: await taken((await enqueued([screenName === undefined ? userId : `@${screenName}`])).said, UsageError),
    topic: await taken(
      Promise.try(() => followersRequest.parse(user)),
      ZodError,
    ),
    library: await taken(
      Promise.try(() => api.pages(user)),
      Error,
    ),
  };
}

async function taken(outcome: Promise<unknown>, refusal: new (...args: never[]) => Error): Promise<boolean> {
  try {
    await outcome;
    return true;
  } catch (error) {
    if (!(error instanceof refusal)) throw error;
    return false;
  }
}

/** Starts `enqueue`. Returns its outcome, and a function that reads the requests topic after the command has ended. */
async function enqueued(entries: readonly string[], authors: readonly string[] = [], stdin: string = '') {
  const service = authors.length > 0 ? 'books' : 'followers';
  const cwd = await configFolder({ 'headgate.yaml': `topics: { driver: sqlite, file: ./headgate.db }\n${FOLLOWERS}` });
  const said = enqueue(service, entries, authors, {
    file: 'headgate.yaml',
    cwd,
    env: ENV,
    stdin: new PassThrough().end(stdin),
    stdout: new PassThrough(),
    stderr: new PassThrough(),
    terminal: new PassThrough(),
    clock: systemClock(),
    signal: new AbortController().signal,
    json: false,
  });
  const log = async (): Promise<unknown[]> => {
    await Promise.allSettled([said]);
    await using opened = await sqliteTopicLog({ file: `${cwd}/headgate.db` });
    const [topic] = await opened.listTopics([`${service}.requests`]);
    const requests: unknown[] = [];
    if (topic !== undefined) for await (const { key, value } of opened.read({ topic: topic.name })) requests.push([key, value]);
    return requests;
  };
  return { said, log };
}
