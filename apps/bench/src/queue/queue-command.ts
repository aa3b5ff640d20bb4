import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import { importPeer } from '../install/import-peer.ts';
import { textTable } from '../text-table.ts';

export interface QueueCommandOptions {
  readonly peers: string;
  /** Maximum requests that wait at the same time. */
  readonly waiters: number;
  readonly markdown: boolean;
  readonly say: (text: string) => void;
}

/** Runs tasks one at a time, in the order of the calls. */
type OneAtATime = (task: () => Promise<void>) => Promise<unknown>;

interface Measured {
  readonly enqueueMs: number;
  readonly drainMs: number;
}

/** Lets many requests wait for one slot, runs them one by one, and returns the report. */
export async function queueCommand({ peers, waiters, markdown, say }: QueueCommandOptions): Promise<string> {
  const queues: ReadonlyMap<string, () => OneAtATime> = new Map([
    ['Headgate, downstream capacity for one', () => headgateQueue({ waiters })],
    ['Headgate, each of them a walk, one signal', () => headgateQueue({ waiters, walks: true, signal: new AbortController().signal })],
    ['p-queue', await pQueue(peers)],
  ]);
  const counts = [waiters / 100, waiters / 10, waiters].map(Math.ceil);
  const rows: string[][] = [];
  for (const [name, open] of queues) {
    const measured: Measured[] = [];
    for (const count of counts) {
      measured.push(await measure(open(), count));
      say(`${name}: ${count}`);
    }
    rows.push([name, '', ...measured.flatMap(({ enqueueMs, drainMs }) => [enqueueMs.toFixed(0), drainMs.toFixed(0)])]);
  }
  const head = ['', '', ...counts.flatMap((count) => [`${count.toLocaleString('en-US')} wait`, 'and go'])];
  return `${['Requests that wait for one permit: ms of CPU to queue them, and to release them one by one', textTable({ head, rows, markdown })].join('\n\n')}\n`;
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

interface HeadgateQueueOptions {
  readonly waiters: number;
  readonly walks?: boolean;
  readonly signal?: AbortSignal;
}

function headgateQueue({ waiters, walks = false, signal }: HeadgateQueueOptions): OneAtATime {
  const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit: 2 * waiters, windowMs: 3_600_000 })] }] });
  const credits = creditPool({ max: 1 });
  const door = admission({ pool });
  return async (task) => {
    const more = { ...(walks && { walk: {} }), ...(signal !== undefined && { signal }) };
    const permit = await door.acquire({ credits, items: 1, ...more });
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
