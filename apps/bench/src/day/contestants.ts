import { copyFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** What a program works on, passed to it as JSON. */
export interface DayTask {
  readonly origin: string;
  readonly limit: number;
  readonly windowMs: number;
  /** Number of jobs, more than the budget permits. Their ids are 0, 1, and so on. */
  readonly jobs: number;
  /** Unique for each run. */
  readonly name: string;
  /** An empty folder for this run. */
  readonly folder: string;
  /** Redis's socket. */
  readonly redis: string;
  /** URL of a database for this run, which doesn't exist yet. */
  readonly postgres: string;
}

export interface DayContestant {
  readonly name: string;
  /** False if the program has no list of jobs that survives it, so it takes others after a kill. */
  readonly keepsJobs: boolean;
  /** The command that starts the program, and starts it again after a kill. */
  command(task: DayTask): readonly string[];
}

/** `peers`: the folder in which the peers are installed. `headgate`: the folder in which Headgate is installed. */
export function dayContestants(peers: string, headgate: string): readonly DayContestant[] {
  const program = (name: string, folder: string, file: string, keepsJobs: boolean, more: object = {}): DayContestant => {
    return {
      name,
      keepsJobs,
      command(task) {
        copyFileSync(fileURLToPath(new URL(`./programs/${file}`, import.meta.url)), join(folder, file));
        return [process.execPath, join(folder, file), JSON.stringify({ ...task, ...more })];
      },
    };
  };
  return [
    { name: 'Headgate, `headgate run`', keepsJobs: true, command: (task) => headgateRun(headgate, task) },
    program('Headgate, `limiter`', headgate, 'headgate-limiter.mjs', false),
    program('Effect RateLimiter, memory', peers, 'effect.mjs', false, { store: 'memory' }),
    program('Effect RateLimiter, Redis', peers, 'effect.mjs', false, { store: 'redis' }),
    program('BullMQ limiter, Redis', peers, 'bullmq.mjs', true),
    program('DBOS queue, PostgreSQL', peers, 'dbos.mjs', true),
  ];
}

function headgateRun(headgate: string, { origin, limit, windowMs, jobs, folder }: DayTask): readonly string[] {
  writeFileSync(join(folder, 'ids.txt'), Array.from({ length: jobs }, (_, id) => `${id}\n`).join(''));
  writeFileSync(
    join(folder, 'headgate.yaml'),
    `topics: { driver: sqlite, file: ./log.db }
status: false
jobs:
  use: rest
  baseUrl: ${origin}
  credentials: [{ name: app }]
  limit: { requests: ${limit}, window: ${windowMs}ms }
  streams:
    job: { get: "/job/{id}", for: { id: [{ file: ids.txt }] }, records: "$.records[*]", key: $.id }
`,
  );
  return [process.execPath, join(headgate, 'node_modules/headgate/dist/command/bin.js'), 'run', '--follow', '--json'];
}
