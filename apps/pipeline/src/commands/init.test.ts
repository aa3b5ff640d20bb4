import { readFile, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { configFolder } from '../config/config-folder.fixture.ts';
import { loadConfig } from '../config/config-folder.fixture.ts';
import { booksOptions, followersOptions } from '../pipelines/options-of.fixture.ts';
import { init } from './init.ts';
import { terminalPrompt } from './terminal-prompt.ts';
import type { Prompt } from './terminal-prompt.ts';

const ENV = { FOLLOWERS_BEARER_TOKEN: 'a', BOOKS_KEY: 'b' };

class Said {
  text = '';
  write(text: string): boolean {
    this.text += text;
    return true;
  }
}

interface Given {
  readonly cwd: string;
  readonly stderr: Said;
  readonly force?: boolean;
  readonly prompt?: Prompt;
  readonly file?: string;
  /** The command as the user types it. */
  readonly command?: string;
}

async function inited({ cwd, stderr, force = false, prompt, file = 'headgate.yaml', command }: Given): Promise<number> {
  return await init(force, prompt, { file, cwd, stderr, env: { HEADGATE_COMMAND: command } });
}

function answering(...answers: readonly string[]): Prompt & { readonly asked: string[] } {
  const asked: string[] = [];
  const prompt = async (question: string): Promise<string> => {
    asked.push(question);
    const answer = answers[asked.length - 1];
    if (answer === undefined) throw new Error(`Nothing to answer to ${question}`);
    return answer;
  };
  return Object.assign(prompt, { asked });
}

test('without a terminal both services are written, and the file loads as it is', async () => {
  const cwd = await configFolder({});
  const stderr = new Said();
  expect(await inited({ cwd, stderr })).toBe(0);
  const { config, warnings } = await loadConfig({ cwd, env: ENV });
  expect(warnings).toEqual([]);
  expect(followersOptions(config.pipelines)).toMatchObject({ baseUrl: 'https://api.example.com', users: [], emit: ['pages'] });
  expect(booksOptions(config.pipelines)).toMatchObject({ baseUrl: 'https://books.example.com', plan: 'default' });
  expect(stderr.text).toBe(`headgate.yaml is written. Next:
  1. put the addresses of your services into it, or remove a service
  2. export FOLLOWERS_BEARER_TOKEN and BOOKS_KEY, or put them into .env
  3. fill in users, isbns and authors
  4. headgate check
For any other JSON API: headgate init --rest URL
`);
});

/** The template's line for a user's own pipeline, whose module doesn't exist. */
const OWN = /^issues: \{ use: \.\/issues\.ts \}$/m;

test('every commented key can be uncommented', async () => {
  const cwd = await configFolder({});
  await inited({ cwd, stderr: new Said() });
  const text = await readFile(join(cwd, 'headgate.yaml'), 'utf8');
  const uncommented = text.replaceAll(/^# (?=topics:|status:| {2})/gm, '').replaceAll(/^( *)# (?=[a-zA-Z]+: )/gm, '$1');
  // The template offers two `topics` sections and two kinds of address. This keeps Kafka and `baseUrl`.
  const chosen = uncommented
    .replace(/^topics:\n {2}driver: sqlite.*(\n {2}.*)*\n/m, '')
    .replace(/^ {2}baseUrls: .*\n/m, '')
    .replace(OWN, '');
  expect(uncommented).toMatch(OWN);
  expect(chosen).not.toMatch(/^ *# ?[a-zA-Z]+: /m);
  const pem = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n';
  const folder = await configFolder({ 'headgate.yaml': chosen, 'ca.pem': pem });
  const { config } = await loadConfig({ cwd: folder, env: { ...ENV, KAFKA_PASSWORD: 'c' } });
  expect(config.topics).toMatchObject({ driver: 'kafka', sasl: { mechanism: 'scram-sha-512' } });
  expect(config.status).toMatchObject({ port: 9464 });
  expect(followersOptions(config.pipelines)).toMatchObject({ count: 5000, every: 86_400_000, credentials: [{ name: 'app' }], ca: pem });
  expect(booksOptions(config.pipelines)).toMatchObject({ perDay: { isbns: 5000 }, every: 86_400_000 });
});

test.each([
  [['followers', ''], ['followers'], 'https://api.example.com'],
  [['Followers ', 'http://127.0.0.1:8080/'], ['followers'], 'http://127.0.0.1:8080'],
  [['books', 'pro', 'https://pro.example.com'], ['books'], 'https://pro.example.com'],
  [['', '', '', ''], ['followers', 'books'], 'https://api.example.com'],
  [['nothing', 'books', 'best', 'premium', 'example', 'https://premium.example.com'], ['books'], 'https://premium.example.com'],
  [['followers', 'http://127.0.0.1/${HOME}/"\\'], ['followers'], 'http://127.0.0.1/${HOME}/"\\'],
])('answers %j', async (answers, services, address) => {
  const cwd = await configFolder({});
  const prompt = answering(...answers);
  expect(await inited({ cwd, prompt, stderr: new Said() })).toBe(0);
  expect(prompt.asked).toHaveLength(answers.length);
  const { config } = await loadConfig({ cwd, env: ENV });
  expect(config.pipelines.map(({ name }) => name)).toEqual(services);
  expect((followersOptions(config.pipelines) ?? booksOptions(config.pipelines))?.baseUrl).toBe(address);
});

test('creates the folder of a file, and shows the next command as typed here', async () => {
  const cwd = await configFolder({});
  const stderr = new Said();
  expect(await inited({ cwd, stderr, file: 'jobs/books.yaml', command: 'npm start --' })).toBe(0);
  expect(stderr.text).toContain('  4. npm start -- check --config jobs/books.yaml\n');
  expect(await readFile(join(cwd, 'jobs/books.yaml'), 'utf8')).toContain('books:');
});

test('an existing file is left alone, before anything is asked', async () => {
  const cwd = await configFolder({ 'headgate.yaml': 'mine' });
  const stderr = new Said();
  expect(await inited({ cwd, stderr, prompt: answering() })).toBe(2);
  expect(await readFile(join(cwd, 'headgate.yaml'), 'utf8')).toBe('mine');
  expect(stderr.text).toBe('headgate.yaml is there already and was left as it is. Overwrite it with: headgate init --force\n');
});

test('a file that appears while questions are asked is left alone', async () => {
  const cwd = await configFolder({});
  const prompt = answering('books', '', '');
  const meanwhile: Prompt = async (question) => {
    if (prompt.asked.length === 0) await inited({ cwd, stderr: new Said() });
    return prompt(question);
  };
  const { mtimeMs } = await stat(cwd);
  expect(mtimeMs).toBeGreaterThan(0);
  expect(await inited({ cwd, prompt: meanwhile, stderr: new Said() })).toBe(2);
  expect(await readFile(join(cwd, 'headgate.yaml'), 'utf8')).toContain('followers:');
});

test('force overwrites', async () => {
  const cwd = await configFolder({ 'headgate.yaml': 'mine' });
  expect(await inited({ cwd, force: true, stderr: new Said() })).toBe(0);
  expect(await readFile(join(cwd, 'headgate.yaml'), 'utf8')).toContain('followers:');
});

test('a folder that cannot be created is reported', async () => {
  const cwd = await configFolder({ no: 'a file' });
  const stderr = new Said();
  expect(await inited({ cwd, file: 'no/where.yaml', stderr })).toBe(2);
  expect(stderr.text).toContain("no/where.yaml can't be written (EEXIST).");
});

test('canceling leaves nothing behind', async () => {
  const cwd = await configFolder({});
  const stderr = new Said();
  expect(await inited({ cwd, prompt: answering('both'), stderr })).toBe(130);
  expect(await readdir(cwd)).toEqual([]);
  expect(stderr.text).toMatch(/^For any other JSON API: headgate init --rest URL \(press Ctrl-C first\)\n/u);
});

test('a terminal is asked, anything else is not', async () => {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true });
  expect(terminalPrompt({ stdin: new PassThrough(), terminal: output })).toBeUndefined();
  expect(terminalPrompt({ stdin: input, terminal: new PassThrough() })).toBeUndefined();
  const prompt = terminalPrompt({ stdin: input, terminal: output });
  const answer = prompt?.('Name? ');
  input.write('alpha\n');
  expect(await answer).toBe('alpha');
  expect(String(output.read())).toContain('Name? ');
  const unanswered = prompt?.('Again? ');
  input.end();
  await expect(unanswered).rejects.toThrow('The input ended before all questions were answered.');
});
