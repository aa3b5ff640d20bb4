import { randomUUID } from 'node:crypto';
import { SerialQueue } from '../../serial-queue.ts';
import type { NewRecord, RecordPosition } from '../../topic-log.ts';
import { partitionKey } from '../../topic-partition.ts';
import type { Client } from '../client/client.ts';
import type { SentRecords } from './record-sender.ts';
import { Places } from './transactional-producer.ts';
import type { Noted, TransactionSession, TransactionSessionOptions } from './transaction-session.ts';

export interface AppenderOptions {
  /** Creates a session with a new producer of the transactional ID. */
  readonly session: (transactionalId: string, options: Pick<TransactionSessionOptions, 'places' | 'noted'>) => TransactionSession;
  readonly client: Client;
}

type PlacedRecord = NewRecord & { readonly partition: number };

/**
 * Appends records outside of lanes. Each call is one transaction. The transactions run one after another, under a transactional ID that no other
 * process uses.
 */
export class Appender {
  readonly #options: AppenderOptions;
  readonly #incarnation = randomUUID();
  readonly #queue = new SerialQueue();
  readonly #places = new Places();
  #number = 0;
  #session: TransactionSession | undefined;

  constructor(options: AppenderOptions) {
    this.#options = options;
  }

  /** Resolves to the positions of the records after their transaction has ended in all its partitions. */
  async append(records: readonly PlacedRecord[]): Promise<readonly RecordPosition[]> {
    return await this.#queue.run(() => this.#append(records));
  }

  close(): void {
    this.#session?.close();
    this.#session = undefined;
  }

  async #append(records: readonly PlacedRecord[]): Promise<readonly RecordPosition[]> {
    const id = { incarnation: this.#incarnation, number: (this.#number += 1) };
    /** Earlier attempts at this append: the newest complete one, and those after it. */
    let noted: readonly Noted[] = [];
    const { session: newSession, client } = this.#options;
    const attempt = async (): Promise<readonly RecordPosition[]> => {
      const isNew = this.#session === undefined;
      const session = (this.#session ??= newSession(`append-${this.#incarnation}`, {
        places: this.#places,
        noted: () => Promise.resolve(noted),
      }));
      try {
        if (isNew) await session.begin();
        await session.write({ records, offsets: [] }, id);
        await session.settle();
        return positionsOf(records, session.newest?.placed ?? new Map());
      } catch (error) {
        const { newest } = session;
        if (newest?.id.number === id.number) noted = [...(newest.isWhole ? [] : noted), newest];
        this.close();
        throw error;
      }
    };
    return await client.run(attempt);
  }
}

function positionsOf(records: readonly PlacedRecord[], placed: SentRecords): readonly RecordPosition[] {
  const offsets = new Map(Array.from(placed, ([key, batches]) => [key, offsetsOf(batches)]));
  return records.map(({ topic, partition }) => {
    const offset = offsets.get(partitionKey({ topic, partition }))?.next().value ?? -1;
    return { topic, partition, offset };
  });
}

function* offsetsOf(batches: NonNullable<ReturnType<SentRecords['get']>>): Generator<number, undefined> {
  for (const { first, count } of batches) for (let index = 0; index < count; index += 1) yield first + index;
}
