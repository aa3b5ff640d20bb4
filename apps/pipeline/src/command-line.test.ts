import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { text } from 'node:stream/consumers';
import { systemClock } from '@headgate/throttle';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { describe, expect, it } from 'vitest';
import { runCommandLine } from './command-line.ts';
import { BOOKS, ENV, configFolder } from './config/config-folder.fixture.ts';

/** An ESC and a CSI sequence, a bell, a carriage return, marks that change the writing direction, line separators, and NUL. */
const HOSTILE = 'a\u001b[31m\u009b31m\u0007\r\u202e\u2066\u200f\u2028\u0085\u0000b';
/** Characters that a terminal could obey, or that could reorder text. Newlines are allowed. */
const OBEYED = /(?!\n)[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/u;

describe('no output contains control sequences from outside, or is endless', () => {
  it.each([
    ['a command', ['%']],
    ['an option', ['run', '--%']],
    ['a format', ['read', 'followers.ids', '--format', '%']],
    ['the value of an option', ['read', 'headgate.state', '--from', '%']],
    ['a choice', ['enqueue', '%']],
    ['a configuration', ['check', '--config', '%']],
    ['a configuration to write', ['init', '--config', 'none/%']],
    ['a topic to read', ['read', '%']],
    ['a topic to replay', ['replay', '%']],
    ['a user', ['enqueue', 'followers', '%']],
    ['an ISBN', ['enqueue', 'books', '%']],
    ['an account', ['sandbox', '--user', '%']],
    ['a limit', ['sandbox', '--limit', '%']],
    ['a fault', ['sandbox', '--fault', '%']],
  ])('%s', async (_, args) => {
    for (const value of [HOSTILE, 'a'.repeat(100_000)]) {
      const { code, stdout, stderr } = await headgate(args.map((arg) => arg.replace('%', value)));
      expect(code).not.toBe(0);
      const [said, unsaid] = args[0] === 'check' ? [stdout, stderr] : [stderr, stdout];
      expect(unsaid).toBe('');
      expect(said).not.toBe('');
      expect(said).not.toMatch(OBEYED);
      expect(said.length).toBeLessThan(20_000);
    }
  });

  it('a word that is not a valid choice is refused, with all choices', async () => {
    for (const [args, choices] of [[['read', 'followers.ids', '--format', 'xls'], 'ndjson, csv, parquet']] as const) {
      const { code, stderr } = await headgate(args);
      expect([code, stderr]).toEqual([2, expect.stringContaining(`Allowed choices are ${choices}.`)]);
    }
  });

  it.each([[['--only', 'followers']], [['--max-requests', '3']], [['--fail-on-dead-letters']]])(
    'an option that the sandbox ignores is refused: %s',
    async (option) => {
      const { code, stderr } = await headgate(['run', '--sandbox', ...option]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(`option '--sandbox' cannot be used with option '${option[0]}`)]);
    },
  );

  it.each(['--follow', '--values'])('a table is refused with %s', async (option) => {
    for (const table of [
      ['--format', 'csv'],
      ['--out', 'a.csv'],
    ]) {
      const { code, stderr } = await headgate(['read', 'books.records', option, ...table]);
      expect([code, stderr]).toEqual([2, expect.stringMatching(`option '${table[0]} .*' cannot be used with option '${option}'`)]);
    }
  });

  it('a line of stdin', async () => {
    for (const value of [HOSTILE, 'a'.repeat(1_000_000), 'FOLLOWERS_BEARER_TOKEN=s3cr3t']) {
      for (const service of ['followers', 'books']) {
        const { code, stderr } = await headgate(['enqueue', service], { input: `${value}\n` });
        expect([code, stderr]).toEqual([2, expect.stringMatching(/^headgate: enqueue: .*Nothing was added\.\n$/u)]);
        expect(stderr).not.toMatch(OBEYED);
        expect(stderr).not.toContain('s3cr3t');
        expect(stderr.length).toBeLessThan(500);
      }
    }
  });

  it('records: plain ones are shown as text, and JSON means the same', async () => {
    const cwd = await configFolder({ 'headgate.yaml': BOOKS });
    const values = [JSON.stringify({ [HOSTILE]: HOSTILE }), `{"raw":"\u009b\u202e\u2028 9007199254740993","n":9007199254740993}`, HOSTILE];
    await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
    await log.createTopics([{ name: 'books.records', partitions: 1 }]);
    await log.append(values.map((value) => ({ topic: 'books.records', key: HOSTILE, value, headers: { [HOSTILE]: HOSTILE } })));
    const [plain, json] = [
      await headgate(['read', 'books.records'], { cwd }),
      await headgate(['read', 'books.records', '--json'], { cwd }),
    ];
    expect([plain.code, json.code]).toEqual([0, 0]);
    expect(plain.stdout.replaceAll('\t', ' ')).not.toMatch(OBEYED);
    expect(json.stdout).not.toMatch(OBEYED);
    expect(json.stdout).toContain('"n":9007199254740993}');
    const read = json.stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown);
    expect(read).toEqual(
      values.map((value, offset) => ({
        topic: 'books.records',
        partition: 0,
        offset,
        time: expect.any(String),
        key: HOSTILE,
        headers: { [HOSTILE]: HOSTILE },
        value: offset < 2 ? (JSON.parse(value) as unknown) : value,
      })),
    );
  });
});

it('read says that nothing matches its options only if nothing does', async () => {
  const cwd = await configFolder({ 'headgate.yaml': BOOKS });
  await using log = await sqliteTopicLog({ file: join(cwd, 'headgate.db') });
  await log.createTopics([{ name: 'books.records', partitions: 1 }]);
  await log.append([{ topic: 'books.records', key: 'a', value: '1' }]);
  const found = await headgate(['read', 'books.records', '--key', 'a', '--values'], { cwd });
  expect([found.code, found.stdout, found.stderr]).toEqual([0, '1\n', '']);
  const none = await headgate(['read', 'books.records', '--key', 'b', '--values'], { cwd });
  expect([none.code, none.stdout, none.stderr]).toEqual([0, '', 'No record of books.records matches these options.\n']);
});

it.each(['http://u:s3cr3t@[bad', 'socks5://u:s3cr3t@127.0.0.1:1080'])(
  'check and run refuse a proxy that can’t work, without its password: %#',
  async (HTTP_PROXY) => {
    const cwd = await configFolder({ 'headgate.yaml': `status: false\n${BOOKS}` });
    const env = { ...ENV, HTTP_PROXY };
    const sentence =
      "books: HTTP_PROXY of the environment must be an http or https address such as http://127.0.0.1:3128 (SOCKS isn't supported), or empty for none";
    const check = await headgate(['check'], { cwd, env });
    expect([check.code, check.stdout]).toEqual([
      1,
      expect.stringMatching(/^ {2}books +books: HTTP_PROXY of the environment must be .*\n1 problem\n$/mu),
    ]);
    expect(await headgate(['run', '--json'], { cwd, env })).toEqual({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining(sentence) as unknown,
    });
    expect((await headgate(['run'], { cwd, env })).stderr).not.toMatch(/s3cr3t|\n {4}at /u);
  },
);

it('reports each problem of a configuration as JSON, and any other error that ends a command', async () => {
  const wrong = await configFolder({ 'headgate.yaml': `${BOOKS}plann: pro\nstatus: { port: x }\n` });
  const right = await configFolder({ 'headgate.yaml': BOOKS });
  const ended = [await headgate(['run', '--json'], { cwd: wrong }), await headgate(['--json', 'enqueue', 'books', '123'], { cwd: right })];
  expect(ended.map(({ code }) => code)).toEqual([2, 2]);
  const said = ended.map(({ stderr }) => stderr.trimEnd().split('\n'));
  const line = (msg: RegExp) => ({
    level: 'error',
    time: expect.stringMatching(/^\d{4}-.*Z$/u) as string,
    event: 'error',
    msg: expect.stringMatching(msg) as string,
  });
  expect(said.map((lines) => lines.map((one) => JSON.parse(one) as object))).toEqual([
    [line(/^headgate\.yaml \d+:\d+ plann: ./u), line(/^headgate\.yaml \d+:\d+ status\.port: ./u)],
    [line(/^enqueue: .*Nothing was added\.$/u)],
  ]);
});

it('a maximum of no requests is a usage error', async () => {
  const { code, stdout, stderr } = await headgate(['run', '--max-requests', '0']);
  expect([code, stdout]).toEqual([2, '']);
  expect(stderr).toContain('Write a whole number from 1.');
});

it('the help of each command has the options of all, and two examples', async () => {
  const { stdout } = await headgate(['--help']);
  const names = [...stdout.matchAll(/^ {2}([a-z]+) (?=.* {2,}\S|\[)/gm)].map(([, name = '']) => name).filter((name) => name !== 'help');
  expect(names).toContain('read');
  for (const name of names) {
    const help = await headgate([name, '--help']);
    expect(help.stdout, name).toMatch(/^Global Options:\n(?: .*\n)* {2}--json/mu);
    expect(help.stdout.split('\nExamples:\n')[1]?.match(new RegExp(`^ {2}headgate ${name}`, 'gmu')), name).toHaveLength(2);
    expect(help.stdout).not.toContain('default: []');
  }
});

interface HeadgateOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
}

async function headgate(args: readonly string[], { cwd, input = '', env = ENV }: HeadgateOptions = {}) {
  const stdin = new PassThrough();
  stdin.end(input);
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const said = Promise.all([text(stdout), text(stderr)]);
  const code = await runCommandLine(args, {
    cwd: cwd ?? (await configFolder({ 'headgate.yaml': BOOKS })),
    env,
    stdin,
    stdout,
    stderr,
    clock: async () => systemClock(),
    signal: new AbortController().signal,
  });
  stdout.end();
  stderr.end();
  const [out, err] = await said;
  return { code, stdout: out, stderr: err };
}
