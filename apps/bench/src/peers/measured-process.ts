import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type { Command } from './contestants.ts';

/** CPU, memory and time of a process from its start to its end, including all processes that it started and waited for. */
export interface Usage {
  /** User and system time of all threads. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** Maximum resident memory of any of the processes. */
  readonly peakBytes: number;
}

export interface MeasuredProcess {
  /** Resolves to the process ID after the start. */
  readonly pid: Promise<number>;
  /** Resolves to the time of the start, epoch ms. */
  readonly startedAtMs: Promise<number>;
  /** Resolves when the process has ended. Rejects with its last output if its exit code isn't `exitCode`. Default: 0. */
  ended(exitCode?: number): Promise<Usage>;
  /** Sends SIGTERM. */
  stop(): void;
}

interface Started {
  readonly pid: number;
  readonly startedAtMs: number;
}

interface Ended extends Usage {
  readonly exitCode: number;
}

const MEASURED_PROCESS = fileURLToPath(new URL('./measured_process.py', import.meta.url));
/** Environment variables of the bench and of npm, which a user's shell doesn't have. */
const FOREIGN = /^(?:npm_|HEADGATE_|NODE_COMPILE_CACHE$|NODE_OPTIONS$|INIT_CWD$)/iu;

/** Starts a command with the environment of a user's shell. `python`: any Python 3, which measures the command, because Node can't. */
export function measuredProcess(python: string, { argv, folder }: Command): MeasuredProcess {
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !FOREIGN.test(name)));
  const child = spawn(python, [MEASURED_PROCESS, ...argv], { cwd: folder, env, stdio: ['pipe', 'ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close');
  let lastWords = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (lastWords = (lastWords + text).slice(-2_000)));
  // The last words can arrive after the news that the process has ended.
  const failure = async (what: string): Promise<Error> => {
    await closed;
    return new Error(`\`${argv.join(' ')}\` ${what}:\n${lastWords}`);
  };
  const lines = createInterface(child.stdio[3] as Readable)[Symbol.asyncIterator]();
  const told = async <Told>(): Promise<Told> => {
    const { value, done } = await lines.next();
    if (done === true) throw await failure('could not be run');
    return JSON.parse(value) as Told;
  };
  const started = told<Started>();
  const usage = started.then(() => told<Ended>());
  for (const promise of [closed, started, usage]) promise.catch(() => undefined);
  return {
    pid: started.then(({ pid }) => pid),
    startedAtMs: started.then(({ startedAtMs }) => startedAtMs),
    async ended(exitCode = 0) {
      const { exitCode: found, ...used } = await usage;
      if (found !== exitCode) throw await failure(`ended with ${found}`);
      return used;
    },
    stop: () => void child.kill('SIGTERM'),
  };
}

/** CPU time that a running process has used, in ms, from Linux's clock ticks of 10 ms. NaN on other systems. */
export function processCpuMs(pid: number): number {
  if (process.platform !== 'linux') return NaN;
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  const [user = NaN, system = NaN] = fields.slice(11, 13).map(Number);
  return (user + system) * 10;
}
