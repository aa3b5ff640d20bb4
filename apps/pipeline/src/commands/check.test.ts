import { PassThrough } from 'node:stream';
import { systemClock } from '@headgate/throttle';
import { expect, test } from 'vitest';
import { BOOKS, ENV, FOLLOWERS, configFolder } from '../config/config-folder.fixture.ts';
import { check } from './check.ts';
import type { Probe, ValidSections } from './check.ts';

const REFUSED: Probe = {
  name: 'kafka 127.0.0.1:9092',
  run: async () => ({ ok: false, message: 'refused the connection. Is the broker up? `nc -z 127.0.0.1 9092`' }),
};
const FINE: Probe = { name: 'topic log', run: async () => ({ ok: true, message: 'can be written' }) };

interface Given {
  readonly file?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly json?: boolean;
  readonly online?: boolean;
  readonly signal?: AbortSignal;
  readonly probes?: (valid: ValidSections) => Probe[];
}

async function checked(yaml: string, { probes = () => [], online = false, ...given }: Given = {}): Promise<{ code: number; text: string }> {
  const cwd = await configFolder({ 'headgate.yaml': yaml });
  let text = '';
  const stdout = new PassThrough({ encoding: 'utf8' }).on('data', (more: string) => (text += more));
  const streams = { stdin: new PassThrough(), stdout, stderr: new PassThrough(), terminal: new PassThrough() };
  const { signal } = new AbortController();
  const code = await check(
    online,
    { ...streams, file: 'headgate.yaml', cwd, env: ENV, clock: systemClock(), signal, json: false, ...given },
    probes,
  );
  return { code, text };
}

test('problems of the file and of the environment appear in one table', async () => {
  const yaml = `${FOLLOWERS}  limit: { window: 15 min }\n${BOOKS}  plann: pro\n`;
  expect(await checked(yaml, { env: { TOKEN: 'x', OTHER_TOKEN: 'y' }, probes: () => [REFUSED, FINE] })).toEqual({
    code: 2,
    text: `headgate.yaml
  6:20  followers.limit.window   "15 min" isn't a duration. Write 15m, 900s or 900000ms.
  9:8   books.key                uses \${KEY}, which isn't set. Export it, or put it into .env next to this file.
  10:3  books.plann              unknown key. Did you mean plan?
environment
  kafka 127.0.0.1:9092           refused the connection. Is the broker up? \`nc -z 127.0.0.1 9092\`
  topic log                      can be written
4 problems
`,
  });
});

test.each([false, true])('a signal ends it, and is no problem of the environment (json: %s)', async (json) => {
  const stop = new AbortController();
  const ran: string[] = [];
  const probe = (name: string): Probe => ({
    name,
    run: async () => {
      ran.push(name);
      stop.abort(new Error('stopped by SIGINT'));
      throw stop.signal.reason;
    },
  });
  const stopped = checked(BOOKS, { json, probes: () => [probe('books'), probe('later')], signal: stop.signal });
  await expect(stopped).rejects.toThrow('stopped by SIGINT');
  expect(ran).toEqual(['books']);
});

test('valid sections are probed', async () => {
  let seen: readonly string[] = [];
  await checked(`${BOOKS}followers: {}\n`, {
    probes: (valid) => {
      seen = [...(valid.topics === undefined ? [] : ['topics']), ...valid.pipelines.map(({ name }) => name)];
      return [];
    },
  });
  expect(seen.toSorted()).toEqual(['books', 'topics']);
});

test('exits with 0 without problems', async () => {
  expect(await checked(BOOKS, { probes: () => [FINE] })).toEqual({
    code: 0,
    text: 'headgate.yaml\n  no problems in this file\nenvironment\n  topic log   can be written\n',
  });
});

test('a warning is not a problem', async () => {
  expect(await checked(BOOKS.replace('"${KEY}"', 'secret-9'))).toEqual({
    code: 0,
    text: `headgate.yaml
  3:8  books.key   warning: a secret in plain text. Put it into .env next to this file and write "\${BOOKS_KEY}" here.
no problems, 1 warning
`,
  });
});

test('a failed environment exits with 1, even if a probe throws', async () => {
  const probes = (): Probe[] => [{ name: 'sqlite', run: () => Promise.reject(new Error('the disk is full. Make room.')) }];
  expect(await checked(BOOKS, { probes })).toEqual({
    code: 1,
    text: 'headgate.yaml\n  no problems in this file\nenvironment\n  sqlite   the disk is full. Make room.\n1 problem\n',
  });
});

test('reports what --online spends before it spends it', async () => {
  const { text } = await checked(FOLLOWERS + BOOKS, { online: true, probes: () => [FINE] });
  expect(text).toBe(`headgate.yaml
  no problems in this file
--online: sends up to one request, recorded in the log, for each of: followers credential app, followers credential user, books
environment
  topic log   can be written
`);
});

test('a missing file exits with 2', async () => {
  expect(await checked('', { file: 'other.yaml' })).toEqual({
    code: 2,
    text: 'other.yaml not found in this folder. Create one with: headgate init --config other.yaml\n',
  });
});

test('a warning of a probe is not a problem; its lines are aligned under the first', async () => {
  const probes = (): Probe[] => [{ ...FINE, run: async () => ({ ok: true, message: 'answers\nand more', warnings: ['small.'] }) }];
  expect(await checked(BOOKS, { probes })).toEqual({
    code: 0,
    text: `headgate.yaml
  no problems in this file
environment
  topic log   answers
              and more
              warning: small.
no problems, 1 warning
`,
  });
});

test('--json is one object with everything that the text says', async () => {
  const yaml = `${BOOKS.replace('"${KEY}"', 'secret-9')}  plann: pro\n`;
  const wrong = await checked(yaml, { json: true, probes: () => [REFUSED, FINE] });
  const environment = [
    { name: REFUSED.name, ok: false, message: 'refused the connection. Is the broker up? `nc -z 127.0.0.1 9092`', warnings: [] },
    { name: 'topic log', ok: true, message: 'can be written', warnings: [] },
  ];
  expect([wrong.code, wrong.text.split('\n').length, JSON.parse(wrong.text)]).toEqual([
    2,
    2,
    {
      file: 'headgate.yaml',
      ok: false,
      problems: [{ line: 4, column: 3, key: 'books.plann', message: 'unknown key. Did you mean plan?' }],
      warnings: [{ line: 3, column: 8, key: 'books.key', message: expect.stringMatching(/^a secret in plain text\./u) as string }],
      environment,
    },
  ]);
  const missing = await checked('', { json: true, file: 'other.yaml' });
  expect([missing.code, JSON.parse(missing.text)]).toEqual([
    2,
    {
      file: 'other.yaml',
      ok: false,
      problems: [{ key: '', message: expect.stringContaining('not found') }],
      warnings: [],
      environment: [],
    },
  ]);
  const refused = await checked(BOOKS, { json: true, probes: () => [REFUSED] });
  expect([refused.code, JSON.parse(refused.text)]).toMatchObject([1, { ok: false, problems: [] }]);
  const fine = await checked(BOOKS, { json: true });
  expect([fine.code, JSON.parse(fine.text)]).toEqual([0, { file: 'headgate.yaml', ok: true, problems: [], warnings: [], environment: [] }]);
});
