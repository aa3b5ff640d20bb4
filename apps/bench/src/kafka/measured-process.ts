import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { USAGE_QUESTION, type Usage } from './usage.ts';

/** A client in a process of its own. */
export interface MeasuredProcess {
  usage(): Promise<Usage>;
  /** Resolves to the exit code. */
  readonly ended: Promise<number | null>;
  /** Rejects with what it said last if it ends before `work` does. */
  during<Result>(work: Promise<Result>): Promise<Result>;
  /** SIGTERM, then its end. */
  stop(): Promise<void>;
}

export interface MeasuredProcessOptions {
  readonly name: string;
  /** A file that Node runs, or a command; the latter is asked for its usage by a line on stdin and answers with JSON by a line on stdout. */
  readonly program: { readonly node: readonly string[] } | { readonly command: string; readonly args: readonly string[] };
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

const TELL_USAGE = new URL('./tell-usage.ts', import.meta.url);
/** A client that hangs is killed. */
const STOP_WITHIN_MS = 12_000;

export function measuredProcess({ name, program, folder, env = {} }: MeasuredProcessOptions): MeasuredProcess {
  const isNode = 'node' in program;
  const child = spawn(
    isNode ? process.execPath : program.command,
    isNode ? ['--import', TELL_USAGE.href, ...program.node] : [...program.args],
    {
      stdio: isNode ? ['ignore', 'ignore', 'pipe', 'ipc'] : ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, ...env },
      ...(folder !== undefined && { cwd: folder }),
    },
  );
  let lastWords = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (lastWords = (lastWords + text).slice(-2_000)));
  child.stdin?.on('error', () => undefined);
  const lines = child.stdout === null ? undefined : createInterface(child.stdout);
  const ended = new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  const early = ended.then((code): never => {
    throw new Error(`${name} ended with ${code} before its time:\n${lastWords}`);
  });
  early.catch(() => undefined);
  const during = <Result>(work: Promise<Result>): Promise<Result> => Promise.race([work, early]);

  return {
    ended,
    during,
    async usage() {
      if (lines === undefined) {
        const answer = once(child, 'message');
        child.send(USAGE_QUESTION);
        const [usage] = await during(answer);
        return usage as Usage;
      }
      const answer = once(lines, 'line');
      child.stdin?.write(`${USAGE_QUESTION}\n`);
      const [line] = (await during(answer)) as [string];
      return JSON.parse(line) as Usage;
    },
    async stop() {
      child.kill('SIGTERM');
      const late = setTimeout(() => child.kill('SIGKILL'), STOP_WITHIN_MS);
      await ended.catch(() => undefined);
      clearTimeout(late);
    },
  };
}
