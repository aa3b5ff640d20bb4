import { type Ended, HEADGATE, SECRETS } from '../headgate-process.fixture.ts';
import { spawnOnLifeline } from '../lifeline.fixture.ts';

/** A line that a run with `--json` writes to stderr. */
export interface LogLine {
  /** Time of the line, epoch ms. */
  readonly at: number;
  readonly event?: string;
  readonly msg?: string;
  readonly lane?: number;
  readonly service?: string;
  readonly reason?: string;
}

/** A process of the real command, with `--json`. */
export interface Runner {
  readonly pid: number;
  readonly name: string;
  readonly running: boolean;
  readonly ended: Promise<Ended>;
  /** Sends a signal. Does nothing if the process has ended. */
  signal(name: NodeJS.Signals): void;
  lines(): readonly LogLine[];
  /** Resolves to the first matching line from number `from` on. Rejects after `withinMs` (default: 300,000), or when the process ends. */
  said(what: (line: LogLine) => boolean, options?: { readonly from?: number; readonly withinMs?: number }): Promise<LogLine>;
}

/** Processes in one folder. Disposal kills those that still run. */
export interface Fleet extends AsyncDisposable {
  start(...args: readonly string[]): Runner;
  readonly runners: readonly Runner[];
  /** Sends SIGTERM to all processes, and waits until they have ended. */
  stop(): Promise<readonly Ended[]>;
}

export function fleet({ folder }: { readonly folder: string }): Fleet {
  const runners: Runner[] = [];
  const start: Fleet['start'] = (...args) => {
    const runner = startRunner({ command: [...HEADGATE, ...args, '--json'], folder, name: `process ${runners.length + 1}` });
    runners.push(runner);
    return runner;
  };
  return {
    start,
    runners,
    async stop() {
      for (const runner of runners) runner.signal('SIGTERM');
      return await Promise.all(runners.map(({ ended }) => ended));
    },
    async [Symbol.asyncDispose]() {
      for (const runner of runners) runner.signal('SIGKILL');
      await Promise.allSettled(runners.map(({ ended }) => ended));
    },
  };
}

function startRunner({
  command,
  folder,
  name,
}: {
  readonly command: readonly string[];
  readonly folder: string;
  readonly name: string;
}): Runner {
  const child = spawnOnLifeline(command, {
    cwd: folder,
    env: { PATH: process.env['PATH'] ?? '', TZ: 'UTC', ...SECRETS },
    stdin: 'ignore',
    detached: true,
  });
  const out = { stdout: '', stderr: '' };
  const logged: LogLine[] = [];
  const listeners = new Set<() => void>();
  child.stdout?.setEncoding('utf8').on('data', (text: string) => (out.stdout += text));
  let rest = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    out.stderr += text;
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    logged.push(...lines.map(parsed));
    for (const listener of listeners) listener();
  });
  const running = (): boolean => child.exitCode === null && child.signalCode === null;
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) => resolve({ code, signal, ...out }));
  });
  ended.catch(() => undefined);

  return {
    pid: child.pid ?? 0,
    name,
    get running() {
      return running();
    },
    ended,
    signal: (which) => void (running() && child.kill(which)),
    lines: () => logged,
    said: (what, { from = 0, withinMs = 300_000 } = {}) =>
      new Promise((resolve, reject) => {
        const over = (done: () => void): void => {
          clearTimeout(timer);
          listeners.delete(look);
          done();
        };
        const look = (): void => {
          const found = logged.slice(from).find(what);
          if (found !== undefined) over(() => resolve(found));
        };
        const fail = (why: string): void => over(() => reject(new Error(`${name} ${why}:\n${out.stderr.slice(-2_000)}`)));
        const timer = setTimeout(() => fail(`has not said it within ${withinMs} ms`), withinMs);
        listeners.add(look);
        void ended.then(() => fail('ended before it said it'));
        look();
      }),
  };
}

function parsed(line: string): LogLine {
  try {
    const { time, ...fields } = JSON.parse(line) as Record<string, unknown>;
    return { ...fields, at: typeof time === 'string' ? Date.parse(time) : Date.now() };
  } catch {
    return { at: Date.now(), msg: line };
  }
}
