import { loadavg } from 'node:os';
import { join } from 'node:path';
import { KafkaBrokerError, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { type Client, HEADGATE, PLAIN } from './clients.ts';
import { confluentClient } from './confluent.ts';
import type { Codec, Shape } from './job.ts';
import { type KafkaCase, kafkaReport } from './kafka-report.ts';
import { IDS_PER_PAGE, measureCase } from './measure-case.ts';

export interface KafkaCommandOptions {
  /** Where peers are installed. */
  readonly peers: string;
  readonly rounds: number;
  /** That each client writes while it is measured, at least. */
  readonly pages: number;
  /** Cases whose name (`pages, none`) holds this; default all. */
  readonly only?: string;
  readonly markdown: boolean;
  readonly say: (text: string) => void;
}

const SHAPES: readonly Shape[] = ['pages', 'ids'];
const CODECS: readonly Codec[] = ['none', 'gzip', 'zstd'];

/** Writes the same pages to Kafka by Headgate and by the least that does it, in turn, and returns the report; or why there is no broker. */
export async function kafkaCommand({ peers, rounds, pages, only = '', markdown, say }: KafkaCommandOptions): Promise<string> {
  const why = await whyNoKafkaBroker();
  if (why !== undefined) return noBroker(why);
  const pagesPerRound = Math.ceil(pages / rounds);
  const confluent = confluentClient({ folder: join(peers, 'python'), say });
  const clients: readonly Client[] = [HEADGATE, PLAIN, ...(confluent === undefined ? [] : [confluent])];
  const cases: KafkaCase[] = [];
  try {
    for (const shape of SHAPES) {
      for (const codec of CODECS) {
        const name = `${shape}, ${codec}`;
        if (!name.includes(only)) continue;
        say(`${name} (load ${load()})`);
        cases.push({ shape, codec, results: await measureCase({ shape, codec, clients, rounds, pagesPerRound }) });
      }
    }
  } catch (error) {
    if (error instanceof KafkaBrokerError) return noBroker(error.message);
    throw error;
  }
  const title = `Pages of ${IDS_PER_PAGE} ids from loopback to Kafka, medians and least of ${rounds} alternating rounds of ${pagesPerRound} pages; load ${load()}`;
  return `${title}\n\n${kafkaReport(cases, { markdown })}\n`;
}

function noBroker(why: string): string {
  return `Nothing was measured: no broker can be started here. ${why}\n`;
}

function load(): string {
  return (loadavg()[0] ?? NaN).toFixed(1);
}
