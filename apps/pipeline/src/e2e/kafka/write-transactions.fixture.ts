import { createRequire } from 'node:module';
import { dirname } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { NewRecord } from '@headgate/topics';
import { letQueuesIdle } from '../../../../../packages/topics/src/kafka/faults/idle-queues.fixture.ts';

/** The part of kafkajs that is used here. It is declared here because only the Kafka driver depends on kafkajs. */
interface KafkaJs {
  readonly Kafka: new (options: { readonly brokers: readonly string[]; readonly logLevel: number }) => {
    producer(options: { readonly transactionalId: string; readonly idempotent: true; readonly maxInFlightRequests: 1 }): Producer;
  };
}

interface Producer {
  connect(): Promise<void>;
  disconnect(): Promise<void>;
  transaction(): Promise<Transaction>;
}

interface Transaction {
  send(batch: { readonly topic: string; readonly compression: number; readonly messages: readonly NewRecord[] }): Promise<unknown>;
  commit(): Promise<void>;
  abort(): Promise<void>;
}

const NO_LOG = 0;
const GZIP = 1;

export interface WrittenTransaction {
  /** Records of a single topic. */
  readonly records: readonly NewRecord[];
  readonly ends: 'committed' | 'aborted';
}

/** Writes transactions one after another with plain kafkajs. */
export async function writeTransactions(brokers: readonly string[], transactions: readonly WrittenTransaction[]): Promise<void> {
  letQueuesIdle();
  const { Kafka } = driversRequire()('kafkajs') as KafkaJs;
  const kafka = new Kafka({ brokers: [...brokers], logLevel: NO_LOG });
  const producer = kafka.producer({ transactionalId: 'consuming-test', idempotent: true, maxInFlightRequests: 1 });
  await producer.connect();
  try {
    for (const { records, ends } of transactions) {
      const [first] = records;
      if (first === undefined) throw new TypeError('A transaction without records.');
      const transaction = await producer.transaction();
      await transaction.send({ topic: first.topic, compression: GZIP, messages: records });
      await (ends === 'committed' ? transaction.commit() : transaction.abort());
    }
  } finally {
    await producer.disconnect();
  }
}

export function kafkaJsFolder(): string {
  return dirname(driversRequire().resolve('kafkajs/package.json'));
}

function driversRequire(): NodeJS.Require {
  return createRequire(fileURLToPath(new URL('../../../../../packages/topics/package.json', import.meta.url)));
}
