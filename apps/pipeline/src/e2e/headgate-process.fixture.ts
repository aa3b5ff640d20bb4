import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { PassThrough } from 'node:stream';
import { finished } from 'node:stream/promises';
import { systemClock } from '@headgate/throttle';
import { TestRunner, inject, onTestFinished } from 'vitest';
import { runCommandLine } from '../command-line.ts';
import { spawnOnLifeline } from './lifeline.fixture.ts';

/** The command line of Headgate without the arguments: Node, its options and the command's file. */
export const HEADGATE: readonly string[] = [process.execPath, '--disable-warning=ExperimentalWarning', inject('command')];
/** The same, but a user's module imports the sources of the packages, which needs no build. */
const FROM_SOURCE: readonly string[] = [process.execPath, '--conditions=@headgate/source', ...HEADGATE.slice(1)];

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface Running {
  readonly ended: Promise<Ended>;
  /** The output of the command so far. */
  text(): { readonly stdout: string; readonly stderr: string };
}

/** A command that runs in its own process. */
export interface Started extends Running {
  readonly child: ChildProcess;
}

/** A command that runs within this process. */
interface Begun extends Running {
  /** Asks the command to stop, as the first Ctrl-C does. */
  interrupt(): void;
}

/** A temporary folder with a headgate.yaml. Commands run there, within this process or in their own. */
export interface Workplace extends AsyncDisposable {
  readonly folder: string;
  /** The shell command that starts Headgate. */
  readonly commandLine: string;
  write(name: string, text: string): Promise<void>;
  /** Starts the command in its own process. */
  start(...args: readonly string[]): Started;
  /** Starts the command within this process, which is cheaper. */
  begin(...args: readonly string[]): Begun;
  /** Runs the command until it ends, by default within this process. `input` goes to stdin. */
  headgate(...args: readonly string[]): Promise<Ended>;
  headgateWith(
    options: { readonly input?: string; readonly env?: Readonly<Record<string, string>> },
    ...args: readonly string[]
  ): Promise<Ended>;
  shell(command: string): Promise<Pick<Ended, 'code' | 'stderr'>>;
  /** The committed records of a topic, from the folder's embedded log. Throws if the topic is missing. */
  records(topic: string): Promise<ReadRecord[]>;
}

export interface ReadRecord {
  readonly topic: string;
  readonly partition: number;
  readonly offset: number;
  readonly key: string | null;
  readonly headers: Readonly<Record<string, string>>;
  readonly value: Readonly<Record<string, unknown>>;
}

export const SECRETS = {
  TOKEN: 'tok-7Gh2-never-shown',
  CONSUMER_SECRET: 'cs-9Kd1-never-shown',
  TOKEN_SECRET: 'ts-4Lm8-never-shown',
  KEY: 'key-5Pq3-never-shown',
} as const;

export interface WorkplaceOptions {
  /** Whether `headgate` runs each command in its own process, which pipes and configurations in code need. Default: false. */
  readonly processes?: boolean;
}

export async function workplace(config: string, { processes = false }: WorkplaceOptions = {}): Promise<Workplace> {
  const children = new Set<ChildProcess>();
  const running = new Set<Begun>();
  const killAll = (): void => {
    for (const child of children) child.kill('SIGKILL');
    for (const one of running) one.interrupt();
  };
  // A test that times out doesn't dispose its workplace. Outside of a test, a workplace serves all tests of a file.
  if (TestRunner.getCurrentTest() !== undefined) onTestFinished(killAll);
  const folder = await mkdtemp(join(tmpdir(), 'headgate-e2e-'));
  await writeFile(join(folder, 'headgate.yaml'), config);

  const start = ({ input, env = {} }: { input?: string; env?: Readonly<Record<string, string>> }, args: readonly string[]): Started => {
    const child = spawnOnLifeline([...FROM_SOURCE, ...args], {
      cwd: folder,
      // The broker's program is in the cache of this home folder.
      env: { PATH: process.env['PATH'] ?? '', HOME: process.env['HOME'], TZ: 'UTC', ...SECRETS, ...env },
      stdin: 'pipe',
    });
    children.add(child);
    const out = { stdout: '', stderr: '' };
    child.stdout?.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
    child.stdin?.on('error', () => undefined);
    child.stdin?.end(input ?? '');
    const ended = new Promise<Ended>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (code, signal) => {
        children.delete(child);
        resolve({ code, signal, ...out });
      });
    });
    return { child, ended, text: () => ({ ...out }) };
  };
  const begin = ({ input = '', env = {} }: { input?: string; env?: Readonly<Record<string, string>> }, args: readonly string[]): Begun => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()];
    stdin.end(input);
    const out = { stdout: '', stderr: '' };
    stdout.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
    stderr.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
    const stop = new AbortController();
    const work = async (): Promise<Ended> => {
      const code = await runCommandLine(args, {
        cwd: folder,
        env: { PATH: process.env['PATH'], ...SECRETS, ...env },
        stdin,
        stdout,
        stderr,
        clock: () => Promise.resolve(systemClock()),
        signal: stop.signal,
      });
      await Promise.all([stdout, stderr].map(async (stream) => await finished(stream.end())));
      return { code, signal: null, ...out };
    };
    const begun = { ended: work(), text: () => ({ ...out }), interrupt: () => stop.abort(new Error('stopped by SIGINT')) };
    running.add(begun);
    const end = (): void => void running.delete(begun);
    begun.ended.then(end, end);
    return begun;
  };
  const headgateWith: Workplace['headgateWith'] = (options, ...args) => (processes ? start : begin)(options, args).ended;

  return {
    folder,
    commandLine: FROM_SOURCE.map((part) => `'${part}'`).join(' '),
    write: (name, text) => writeFile(join(folder, name), text),
    start: (...args) => start({}, args),
    begin: (...args) => begin({}, args),
    headgate: (...args) => headgateWith({}, ...args),
    headgateWith,
    shell: (command) =>
      new Promise((resolve) => {
        const env = { PATH: process.env['PATH'] ?? '', TZ: 'UTC', ...SECRETS };
        const child = spawn('sh', ['-c', command], { cwd: folder, env, stdio: ['ignore', 'ignore', 'pipe'] });
        let stderr = '';
        child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
        child.on('close', (code) => resolve({ code, stderr }));
      }),
    // Reads the SQL view that other programs use, because opening the log would start a thread.
    async records(topic) {
      using log = new DatabaseSync(join(folder, 'headgate.db'), { timeout: 5_000 });
      if (log.prepare('SELECT 1 FROM topics WHERE name = ?').get(topic) === undefined) throw new Error(`There is no topic ${topic}.`);
      const rows = log.prepare('SELECT * FROM records WHERE topic = ? ORDER BY partition, offset').all(topic);
      return rows.map(({ partition, offset, key, value, headers }) => ({
        topic,
        partition: Number(partition),
        offset: Number(offset),
        key: key as string | null,
        headers: parsed((headers ?? '{}') as string) as ReadRecord['headers'],
        value: parsed(value as string | null),
      }));
    },
    async [Symbol.asyncDispose]() {
      killAll();
      await Promise.allSettled(Array.from(running, ({ ended }) => ended));
      await rm(folder, { recursive: true, force: true });
    },
  };
}

function parsed(value: string | null): ReadRecord['value'] {
  return JSON.parse(value ?? 'null') as ReadRecord['value'];
}

export interface FollowersYamlOptions {
  readonly url: string;
  readonly users: readonly string[];
  readonly limit?: string;
  readonly emit?: string;
  readonly more?: string;
}

export function followersYaml({
  url,
  users,
  limit = '{ requests: 100000, window: 1s }',
  emit = '[pages, ids]',
  more = '',
}: FollowersYamlOptions): string {
  return `topics: { driver: sqlite, file: ./headgate.db }
status: false
followers:
  baseUrl: ${url}
  credentials:
    - { name: app, bearer: "\${TOKEN}" }
  limit: ${limit}
  users: [${users.join(', ')}]
  emit: ${emit}
${more}`;
}
