import { setTimeout as sleep } from 'node:timers/promises';
import { type Pipeline, leftToDo, start } from '@headgate/pipeline';
import { admission, credentialPool, creditPool, rateBudget } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { type CountedBroker, countedBroker } from '../peers/broker-traffic.ts';
import { serverProcess } from '../server-process.ts';
import { textTable } from '../text-table.ts';
import { growthPipeline } from './growth-pipeline.ts';

const PAGES = 20;
const IDLE_MS = 5_000;
/** The highest exponents of a cost that grows in proportion to the work. CPU is measured on a machine that does other things, too. */
const AT_MOST = { requests: 1.15, kB: 1.15, 'CPU ms': 1.35 };

type Cost = keyof typeof AT_MOST;
type Costs = Readonly<Record<Cost, number>>;

interface Curve {
  readonly name: string;
  readonly sizes: readonly number[];
  /** Does the work of this size, after `measured` was called to begin it. */
  readonly run: (size: number, measured: <T>(work: () => Promise<T>) => Promise<T>) => Promise<void>;
}

/** Measures what work of growing size costs, and returns the curves with their exponents. `program` serves pages. `only`: part of a curve's name. */
export async function growthCommand(program: readonly string[], only: string, say: (text: string) => void): Promise<string> {
  await using broker = await countedBroker();
  const reports: string[] = [];
  for (const curve of curves(broker, program).filter(({ name }) => name.includes(only))) {
    const found: Costs[] = [];
    for (const size of curve.sizes) {
      let costs: Costs = { requests: NaN, kB: NaN, 'CPU ms': NaN };
      await curve.run(size, async (work) => {
        broker.traffic();
        const cpu = process.cpuUsage();
        const result = await work();
        const { user, system } = process.cpuUsage(cpu);
        const { requests, sentBytes, receivedBytes } = broker.traffic();
        costs = { requests, kB: (sentBytes + receivedBytes) / 1_000, 'CPU ms': (user + system) / 1_000 };
        return result;
      });
      found.push(costs);
      say(`${curve.name}: ${size}`);
    }
    reports.push(report(curve, found));
  }
  return reports.join('\n\n');
}

function curves(broker: CountedBroker, program: readonly string[]): readonly Curve[] {
  const withLog = async (work: (log: TopicLog) => Promise<unknown>): Promise<void> => {
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1, compression: 'none' });
    await work(log);
  };
  /** Starts a run, and resolves when it is done, or at once if it follows. `prefix`: of its topics. */
  const run = async (log: TopicLog, pipeline: Pipeline, prefix: string, lanes = 1, follow = false) => {
    const running = await start({ log, pipelines: [pipeline], lanes, follow, group: prefix, topics: { prefix: `${prefix}.` } });
    if (!follow) await running.done;
    return running;
  };
  const nowhere = 'http://127.0.0.1:9';
  const opened = async (lanes: number, work: (log: TopicLog, open: () => ReturnType<typeof run>) => Promise<void>): Promise<void> => {
    const pipeline = growthPipeline(nowhere, lanes);
    // The first run creates the topics.
    await withLog(async (log) => (await run(log, pipeline, `lanes-${lanes}`, lanes, true)).stop());
    await withLog((log) => work(log, () => run(log, pipeline, `lanes-${lanes}`, lanes, true)));
  };
  const crawled = async (name: string, credentials: number, pages: number, measured: (work: () => Promise<void>) => Promise<void>) => {
    using server = await serverProcess(program, pages);
    const pipeline = growthPipeline(server.origin, credentials, 1);
    await measured(() => withLog((log) => run(log, pipeline, name)));
  };
  return [
    {
      name: 'lanes, opened',
      sizes: [1, 4, 16, 64],
      run: (lanes, measured) => opened(lanes, async (_, open) => void (await (await measured(open)).stop())),
    },
    {
      name: `lanes, idle for ${IDLE_MS / 1_000} s`,
      sizes: [1, 4, 16, 64],
      run: (lanes, measured) =>
        opened(lanes, async (_, open) => {
          await using _running = await open();
          await sleep(IDLE_MS);
          await measured(() => sleep(IDLE_MS));
        }),
    },
    {
      name: `credentials, for a job of ${PAGES} pages`,
      sizes: [1, 10, 100, 1_000],
      run: (credentials, measured) => crawled(`credentials-${credentials}`, credentials, PAGES, measured),
    },
    {
      name: 'waiting jobs, planned',
      sizes: [1, 100, 10_000, 100_000],
      run: (jobs, measured) =>
        withLog(async (log) => {
          const prefix = `jobs-${jobs}`;
          const pipeline = growthPipeline(nowhere, 1);
          await using running = await run(log, pipeline, prefix, 1, true);
          await running.stop();
          const users = Array.from({ length: jobs }, (_, i) => JSON.stringify({ screenName: `user${i}` }));
          await log.append(users.map((value) => ({ topic: `${prefix}.growth.requests`, partition: 0, key: value, value })));
          const left = await measured(() => leftToDo({ log, pipelines: [pipeline], group: prefix, names: (name) => `${prefix}.${name}` }));
          const found = left[0]?.lanes[0]?.walks.length;
          if (found !== jobs) throw new Error(`${found} jobs were found instead of ${jobs}`);
        }),
    },
    {
      name: 'pages of a job',
      sizes: [10, 100, 1_000],
      run: (pages, measured) => crawled(`pages-${pages}`, 1, pages, measured),
    },
    {
      name: 'requests of a process that wait for one permit',
      sizes: [100, 1_000, 10_000, 100_000],
      run: (requests, measured) => measured(() => oneByOne(requests)),
    },
  ];
}

/** Lets requests wait for a downstream with room for one item, and go one by one. Each is of a walk of its own, and can be aborted. */
async function oneByOne(requests: number): Promise<void> {
  const pool = credentialPool({ members: [{ name: 'app', budgets: [rateBudget({ limit: 2 * requests, windowMs: 3_600_000 })] }] });
  const credits = creditPool({ max: 1 });
  const door = admission({ pool });
  const { signal } = new AbortController();
  const one = async (): Promise<void> => {
    const permit = await door.acquire({ credits, items: 1, walk: {}, signal });
    permit.sent();
    await new Promise((resolve) => setImmediate(resolve));
    permit.answered();
    permit.credit.release();
  };
  await Promise.all(Array.from({ length: requests }, one));
}

function report({ name, sizes }: Curve, found: readonly Costs[]): string {
  const rows = (Object.keys(AT_MOST) as Cost[]).map((cost) => {
    const exponent = exponentOf(
      sizes,
      found.map((costs) => costs[cost]),
    );
    const verdict = Number.isNaN(exponent) ? '' : exponent <= AT_MOST[cost] ? 'reached' : 'MISSED';
    return [
      cost,
      ...found.map((costs) => costs[cost].toFixed(0)),
      Number.isNaN(exponent) ? '' : exponent.toFixed(2),
      `${AT_MOST[cost]}`,
      verdict,
    ];
  });
  return textTable([name, ...sizes.map((size) => size.toLocaleString('en-US')), 'exponent', 'at most', ''], rows);
}

/** The exponent between the two largest sizes, where constant costs matter least; NaN without costs. */
export function exponentOf(sizes: readonly number[], costs: readonly number[]): number {
  const growth = (values: readonly number[]): number => Math.log((values.at(-1) ?? NaN) / (values.at(-2) ?? NaN));
  return growth(costs) / growth(sizes);
}
