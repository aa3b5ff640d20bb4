import { copyFileSync, mkdtempSync, rmSync } from 'node:fs';
import { availableParallelism, loadavg, tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { KafkaBrokerError, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { packedHeadgate } from '../install/packed-headgate.ts';
import { pythonEnvironment } from '../install/python-environment.ts';
import { countedBroker } from './broker-traffic.ts';
import { type Contestant, contestants, EMBEDDED, INSTALLED, NODE_PROGRAMS } from './contestants.ts';
import { serverProcess } from '../server-process.ts';
import { IDS_PER_PAGE } from '../walk/page-server.ts';
import { measureRun, type MeasureRunOptions, type Run } from './measure-run.ts';
import { type Figures, peersReport } from './peers-report.ts';
import { measureIdle, measureReadable } from './start-and-rest.ts';

/** JVM options of a broker for long runs: the optimizing compiler and enough memory. Brokers for tests start faster without them. */
const LASTING = '-Xms768m -Xmx768m -XX:TieredStopAtLevel=4 -XX:ReservedCodeCacheSize=240m';
const SETTINGS = { 'log.segment.delete.delay.ms': '1000' };

/**
 * Makes programs write the same pages in turn. Returns the report, or why nothing was measured. `program` serves pages. `sizes`: numbers of
 * pages of the jobs, in ascending order. `only` selects programs by shape and name, such as `ids: tweepy + librdkafka`.
 */
export async function peersCommand(
  program: readonly string[],
  peers: string,
  rounds: number,
  sizes: readonly number[],
  only: RegExp,
  say: (text: string) => void,
): Promise<string> {
  const why = await whyNoKafkaBroker();
  if (why !== undefined) return nothing(`The broker can't be started here. ${why}`);
  const python = pythonEnvironment(join(peers, 'python'), say);
  if (python === undefined) return nothing('Python 3 could not install tweepy and confluent-kafka.');
  for (const file of NODE_PROGRAMS) copyFileSync(file, join(peers, basename(file)));

  const folder = mkdtempSync(join(tmpdir(), 'headgate-bench-'));
  try {
    const packed = packedHeadgate(folder);
    const all = contestants(peers, python, packed.command);
    const chosen = all.filter(({ shape, name }) => only.test(`${shape}: ${name}`));
    if (chosen.length === 0)
      return nothing(`--only matches nothing. Choose one of ${all.map(({ shape, name }) => `'${shape}: ${name}'`).join(', ')}.`);
    if (chosen.some(({ name }) => name === INSTALLED || name === EMBEDDED)) {
      say('packing and installing Headgate');
      packed.install();
    }
    return await measure(chosen, folder, python, program, rounds, sizes, say);
  } catch (error) {
    if (error instanceof KafkaBrokerError) return nothing(error.message);
    throw error;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function measure(
  chosen: readonly Contestant[],
  folder: string,
  python: string,
  program: readonly string[],
  rounds: number,
  sizes: readonly number[],
  say: (text: string) => void,
): Promise<string> {
  const [least = 1] = sizes;
  const serve = async (pages: number) => [pages, await serverProcess(program, pages)] as const;
  const servers = new Map(await Promise.all([...new Set([1, ...sizes])].map(serve)));
  const task = (broker: MeasureRunOptions['broker'], pages: number): MeasureRunOptions => {
    const origin = servers.get(pages)?.origin ?? '';
    return { python, folder, broker, origin, pages };
  };
  const all = chosen.map((contestant) => ({
    contestant,
    runs: new Map(sizes.map((size): [number, Run[]] => [size, []])),
    counted: [] as Run[],
    firstRecordMs: [] as number[],
    readableMs: [] as number[],
    idleCpuMs: [] as number[],
  }));
  try {
    {
      await using broker = await countedBroker();
      for (const { contestant, counted } of all) {
        // This first run of a program only counts requests. It isn't timed, because Node and Python fill their caches of compiled code.
        say(`counting requests: ${contestant.shape}, ${contestant.name}`);
        counted.push(await measureRun(contestant, task(broker, least)));
      }
    }
    await using broker = await startKafkaBroker({ settings: SETTINGS, environment: { ...process.env, _JAVA_OPTIONS: LASTING } });
    const loads: number[] = [];
    for (let round = 1; round <= rounds; round += 1) {
      // Every other round has the reverse order.
      for (const { contestant, runs, firstRecordMs, readableMs, idleCpuMs } of round % 2 === 1 ? all : all.toReversed()) {
        const load = loadavg()[0] ?? NaN;
        loads.push(load);
        say(`round ${round} of ${rounds}: ${contestant.shape}, ${contestant.name} (load ${load.toFixed(1)})`);
        for (const [size, found] of runs) {
          const run = await measureRun(contestant, task(broker, size));
          found.push(run);
          say(`  ${size} pages: ${(run.cpuMs / size).toFixed(2)} ms of CPU a page, ${(run.wallMs / 1_000).toFixed(1)} s`);
        }
        if (contestant.shape === 'ids') continue;
        if (contestant.log === 'kafka') {
          firstRecordMs.push((await measureReadable(contestant, task(broker, 1))).firstMs);
          readableMs.push((await measureReadable(contestant, task(broker, least))).afterAnswerMs);
        }
        if (contestant.name === INSTALLED || contestant.name === EMBEDDED) idleCpuMs.push(await measureIdle(contestant, task(broker, 1)));
      }
    }
    assertSame(all);
    const title =
      `The same pages of ${IDS_PER_PAGE} ids from loopback, by whole processes from start to end: ` +
      `medians (least-most) of ${rounds} alternating rounds; load ${Math.min(...loads).toFixed(1)}-${Math.max(...loads).toFixed(1)} on ${availableParallelism()} cores`;
    return `${title}\n\n${peersReport(all, sizes)}`;
  } finally {
    for (const server of servers.values()) server[Symbol.dispose]();
  }
}

/** Throws if programs that should write Headgate's records wrote different bytes. */
function assertSame(all: readonly Figures[]): void {
  const digests = new Map<string, string>();
  for (const { contestant, runs } of all) {
    if (contestant.records !== 'same') continue;
    for (const [size, found] of runs) {
      const job = `${contestant.shape}, ${size} pages`;
      for (const { digest } of found) {
        if ((digests.get(job) ?? digest) !== digest) throw new Error(`${contestant.name} wrote different records from the others: ${job}`);
        digests.set(job, digest);
      }
    }
  }
}

function nothing(why: string): string {
  return `Nothing was measured: ${why}`;
}
