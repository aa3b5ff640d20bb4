import { mkdtemp } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { type Client, HEADGATE } from './clients.ts';
import { gatedPages } from './gated-pages.ts';
import type { Codec, Shape } from './job.ts';
import type { MeasuredProcess } from './measured-process.ts';
import { plainKafka } from './plain-kafka.ts';
import { type Runner, takeTurns, type Turns } from './take-turns.ts';
import { type WrittenRecords, writtenRecords } from './written-records.ts';

export const IDS_PER_PAGE = 5_000;
const WARM_UP_PAGES = 20;
const IDLE_MS = 5_000;
/** The last page is written by then, and what that set in motion is over. */
const SETTLED_MS = 2_000;
/** As Headgate has its own topics made. */
const MAX_MESSAGE_BYTES = '8388608';

export interface MeasureCaseOptions {
  readonly shape: Shape;
  readonly codec: Codec;
  readonly clients: readonly Client[];
  readonly rounds: number;
  /** Pages of a client's turn. */
  readonly pagesPerRound: number;
}

export interface ClientResult extends Turns {
  readonly client: Client;
  readonly peakBytes: number;
  /** CPU ms a second with nothing to do; only of clients that stay. */
  readonly idleCpuMs: number | undefined;
  readonly written: WrittenRecords;
}

/**
 * Lets the clients write the same pages in turn, to a broker of their own. Throws a `KafkaBrokerError` without a broker, and an `Error` when a
 * client ends early or has not written what it should.
 */
export async function measureCase(options: MeasureCaseOptions): Promise<readonly ClientResult[]> {
  const { shape, codec, clients, rounds, pagesPerRound } = options;
  const total = WARM_UP_PAGES + rounds * pagesPerRound + 1;
  const broker = await startKafkaBroker();
  const runners: Runner[] = [];
  try {
    const others = clients.filter((client) => client !== HEADGATE);
    await createTopics(
      broker.brokers,
      others.flatMap((client) => [client.topic(shape), ...(client.furtherTopics ?? [])]),
    );
    for (const client of clients) {
      const pages = await gatedPages({ pages: total, idsPerPage: IDS_PER_PAGE });
      const job = { shape, codec, origin: pages.origin, brokers: broker.brokers, topic: client.topic(shape) };
      const process = await client.start(job, await mkdtemp(join(broker.folder, 'client-')));
      runners.push({ client, pages, process });
    }
    const turns = await takeTurns(runners, { warmUpPages: WARM_UP_PAGES, rounds, pagesPerRound });
    const results: ClientResult[] = [];
    for (const { client, pages, process } of runners) {
      const { peakBytes } = await process.usage();
      pages.answerAll();
      const idleCpuMs = client.ends ? undefined : await idleCpu(process);
      await (client.ends ? process.ended : process.stop());
      const written = await writtenRecords(broker.brokers, client.topic(shape));
      results.push({ ...(turns.get(client) ?? { cpuMs: [], wallMs: [] }), client, peakBytes, idleCpuMs, written });
    }
    assertSame(results, shape === 'pages' ? total : total * IDS_PER_PAGE);
    return results;
  } finally {
    for (const { pages } of runners) pages.close();
    await Promise.all(runners.map(({ process }) => process.stop()));
    await broker.close();
  }
}

async function createTopics(brokers: readonly string[], topics: readonly string[]): Promise<void> {
  const admin = plainKafka(brokers).kafka.admin();
  await admin.connect();
  try {
    const configEntries = [{ name: 'max.message.bytes', value: MAX_MESSAGE_BYTES }];
    const made = topics.map((topic) => ({ topic, numPartitions: 1, replicationFactor: 1, configEntries }));
    await admin.createTopics({ topics: made, waitForLeaders: true });
  } finally {
    await admin.disconnect();
  }
}

/** CPU ms a second of a process that has nothing to do. */
async function idleCpu(process: MeasuredProcess): Promise<number> {
  await process.during(sleep(SETTLED_MS));
  const before = await process.usage();
  const startedAt = performance.now();
  await process.during(sleep(IDLE_MS));
  const after = await process.usage();
  return ((after.cpuMs - before.cpuMs) * 1_000) / (performance.now() - startedAt);
}

/** Everybody wrote all of it, and byte for byte the same. */
function assertSame(results: readonly ClientResult[], count: number): void {
  const [first] = results;
  for (const { client, written } of results) {
    if (written.count !== count) throw new Error(`${client.name} has written ${written.count} records instead of ${count}`);
    if (written.digest !== first?.written.digest) throw new Error(`${client.name} has written other records than ${first?.client.name}`);
  }
}
