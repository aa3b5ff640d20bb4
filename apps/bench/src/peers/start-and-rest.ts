import { setTimeout as sleep } from 'node:timers/promises';
import { type Contestant, topicsOf } from './contestants.ts';
import { inFolder, type MeasureRunOptions } from './measure-run.ts';
import { ANSWERED } from '../walk/page-server.ts';
import { measuredProcess, processCpuMs } from './measured-process.ts';
import { writtenBy } from './written.ts';

/** Time after which a job of one page has no effect on the CPU anymore, ms. */
const AT_REST_AFTER_MS = 5_000;
const IDLE_MS = 10_000;
const STOPPED = 130;

/** Times (ms) until a waiting reader has the records of a job: the first one, from the contestant's start, and 99 % of them, each from its page's answer. */
export interface Readable {
  readonly firstMs: number;
  readonly afterAnswerMs: number;
}

export async function measureReadable(contestant: Contestant, options: MeasureRunOptions): Promise<Readable> {
  const { python, broker, origin, pages } = options;
  const written = writtenBy(python);
  return inFolder(options, async (folder) => {
    await written.makeTopics(broker.brokers, topicsOf(contestant));
    const { cameAtMs } = await written.firstRecords(broker.brokers, contestant.topic, pages);
    const running = measuredProcess(python, contestant.command({ ...options, brokers: broker.brokers, folder }));
    const [startedAtMs, arrivals] = await Promise.all([running.startedAtMs, cameAtMs, running.ended()]);
    const answeredAtMs = (await (await fetch(`${origin}${ANSWERED}`)).json()) as readonly number[];
    const delays = arrivals.map((atMs, page) => atMs - (answeredAtMs[page] ?? NaN)).sort((a, b) => a - b);
    return { firstMs: (arrivals[0] ?? NaN) - startedAtMs, afterAnswerMs: delays[Math.ceil(0.99 * delays.length) - 1] ?? NaN };
  });
}

/** CPU ms per second of a run with `--follow` and no work; NaN if unknown. */
export async function measureIdle(contestant: Contestant, options: MeasureRunOptions): Promise<number> {
  const { python, broker } = options;
  return inFolder(options, async (folder) => {
    const running = measuredProcess(python, contestant.command({ ...options, brokers: broker.brokers, folder, follow: true }));
    const pid = await running.pid;
    await sleep(AT_REST_AFTER_MS);
    const before = processCpuMs(pid);
    await sleep(IDLE_MS);
    const after = processCpuMs(pid);
    running.stop();
    await running.ended(STOPPED);
    return ((after - before) * 1_000) / IDLE_MS;
  });
}
