import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import { importPeer } from '../install/import-peer.ts';
import { textTable } from '../text-table.ts';

/** Runs tasks one at a time, in the order of the calls. */
type OneAtATime = (task: () => Promise<void>) => Promise<unknown>;

interface Measured {
  readonly enqueueMs: number;
  readonly drainMs: number;
}

/** Lets many requests wait for one slot, runs them one by one, and returns the report. `waiters`: the maximum that wait at the same time. */
export async function queueCommand(peers: string, waiters: number, say: (text: string) => void): Promise<string> {
  const queues: ReadonlyMap<string, () => OneAtATime> = new Map([
    ['Headgate, downstream capacity for one', () => headgateQueue(waiters)],
    ['p-queue', await pQueue(peers)],
  ]);
  const counts = [waiters / 100, waiters / 10, waiters].map(Math.ceil);
  const rows: string[][] = [];
  for (const [name, open] of queues) {
    const row = [name];
    for (const count of counts) {
      const { enqueueMs, drainMs } = await measure(open(), count);
      row.push(enqueueMs.toFixed(0), drainMs.toFixed(0));
      say(`${name}: ${count}`);
    }
    rows.push(row);
  }
  const head = ['', ...counts.flatMap((count) => [`${count.toLocaleString('en-US')} wait`, 'and go'])];
  return `Requests that wait for one permit: ms of CPU to queue them, and to release them one by one\n\n${textTable(head, rows)}`;
}

async function measure(run: OneAtATime, count: number): Promise<Measured> {
  const gate = Promise.withResolvers<void>();
  const first = run(() => gate.promise);
  const cpu = process.cpuUsage();
  const all = Array.from({ length: count }, () => run(turn));
  await turn();
  const enqueueMs = cpuMs(cpu);
  gate.resolve();
  await Promise.all([first, ...all]);
  return { enqueueMs, drainMs: cpuMs(cpu) - enqueueMs };
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}

/** The work of each waiter: one turn of the event loop. */
function turn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** Each request is of a walk of its own, and can be aborted. */
function headgateQueue(waiters: number): OneAtATime {
  const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit: 2 * waiters, windowMs: 3_600_000 })] }] });
  const credits = creditPool({ max: 1 });
  const door = admission({ pool });
  const { signal } = new AbortController();
  return async (task) => {
    const permit = await door.acquire({ credits, items: 1, walk: {}, signal });
    permit.sent();
    await task();
    permit.answered();
    permit.credit.release();
  };
}

interface PQueueModule {
  readonly default: new (options: { readonly concurrency: number }) => { add(task: () => Promise<void>): Promise<void> };
}

async function pQueue(folder: string): Promise<() => OneAtATime> {
  const { default: PQueue } = await importPeer<PQueueModule>(folder, 'p-queue');
  return () => {
    const queue = new PQueue({ concurrency: 1 });
    return (task) => queue.add(task);
  };
}
