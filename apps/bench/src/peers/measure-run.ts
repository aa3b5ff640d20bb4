import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KafkaBroker } from '@headgate/broker';
import { IDS_PER_PAGE, idAt } from '../walk/page-server.ts';
import type { CountedBroker, Traffic } from './broker-traffic.ts';
import { type Contestant, EMBEDDED_FILE, topicsOf } from './contestants.ts';
import { measuredProcess, processCpuMs, type Usage } from './measured-process.ts';
import { writtenBy } from './written.ts';

/** Time in which a broker still works for a program that has ended, ms. */
const SETTLED_MS = 300;

export interface MeasureRunOptions {
  readonly python: string;
  readonly folder: string;
  readonly broker: Pick<KafkaBroker, 'brokers'> & Partial<Pick<KafkaBroker, 'nodes'> & Pick<CountedBroker, 'traffic'>>;
  /** Address of the page server with `pages` pages. */
  readonly origin: string;
  readonly pages: number;
}

/** The usage of a contestant's process from its start to its end. */
export interface Run extends Usage {
  /** CPU time of the broker during the run; NaN if unknown. */
  readonly brokerCpuMs?: number;
  /** Traffic of the run, if the broker counts it. */
  readonly traffic?: Traffic;
  /** Size of the embedded log. */
  readonly fileBytes?: number;
  /** SHA-256 of the written keys and values. */
  readonly digest: string;
}

/** Runs a contestant's job once and checks its output. Throws an `Error` unless it has written every ID of every page, once and in order. */
export async function measureRun(contestant: Contestant, options: MeasureRunOptions): Promise<Run> {
  const { python, broker, origin, pages } = options;
  const { name, topic, log } = contestant;
  const { brokers } = broker;
  const written = writtenBy(python);
  const [node] = broker.nodes ?? [];
  const brokerCpu = (): number => (node?.pid === undefined ? NaN : processCpuMs(node.pid));
  return inFolder(options, async (folder) => {
    if (!contestant.isHeadgate) await written.makeTopics(brokers, topicsOf(contestant));
    // Resets the count, because creating the topics isn't part of the measurement.
    broker.traffic?.();
    const before = brokerCpu();
    const usage = await measuredProcess(python, contestant.command({ origin, brokers, folder })).ended();
    await sleep(SETTLED_MS);
    const brokerCpuMs = brokerCpu() - before;
    const traffic = broker.traffic?.();
    const file = join(folder, EMBEDDED_FILE);
    const found = await (log === 'kafka' ? written.topic(brokers, topic) : written.embedded(file, topic));
    if (found.ids !== pages * IDS_PER_PAGE || found.idsDigest !== digestOfIds(pages))
      throw new Error(`${name} wrote ${found.ids} ids instead of the expected ${pages * IDS_PER_PAGE}, in page order`);
    return {
      ...usage,
      digest: found.digest,
      ...(log === 'kafka' ? { brokerCpuMs, ...(traffic && { traffic }) } : { fileBytes: statSync(file).size }),
    };
  });
}

/** Runs `work` in a temporary folder. Deletes the folder and all topics afterward. */
export async function inFolder<Result>(
  { python, folder: parent, broker }: MeasureRunOptions,
  work: (folder: string) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(parent, 'run-'));
  try {
    return await work(folder);
  } finally {
    await writtenBy(python).clearTopics(broker.brokers);
    rmSync(folder, { recursive: true, force: true });
  }
}

function digestOfIds(pages: number): string {
  const hash = createHash('sha256');
  for (let page = 0; page < pages; page += 1)
    hash.update(Array.from({ length: IDS_PER_PAGE }, (_, id) => `${idAt(page * IDS_PER_PAGE + id)}\n`).join(''));
  return hash.digest('hex');
}
