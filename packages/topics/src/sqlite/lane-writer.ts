import { LaneLostError } from '../lane-errors.ts';
import { TopicLogClosedError } from '../topic-log-errors.ts';
import type { LaneSpec, LaneTransaction, LaneWriter, NewRecord, RecordPosition } from '../topic-log.ts';
import { AppendBatches } from './append-batches.ts';
import type { WorkerLink } from './worker-link.ts';
import type { OffsetCommit, StateEntries } from './worker-protocol.ts';

export interface SqliteLaneWriterOptions {
  readonly link: WorkerLink;
  readonly lane: LaneSpec;
  readonly epoch: number;
  readonly entries: StateEntries;
  readonly now: () => number;
  readonly onClose: (writer: SqliteLaneWriter) => void;
}

export class SqliteLaneWriter implements LaneWriter {
  readonly #options: SqliteLaneWriterOptions;
  readonly #state: Map<string, string>;
  #last: Promise<unknown> = Promise.resolve();
  #lost: LaneLostError | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SqliteLaneWriterOptions) {
    this.#options = options;
    this.#state = new Map(options.entries.keys.map((key, index) => [key, options.entries.values[index] ?? '']));
  }

  get state(): ReadonlyMap<string, string> {
    return this.#state;
  }

  transaction(work: (tx: LaneTransaction) => void): Promise<void> {
    if (this.#closed !== undefined) {
      return Promise.reject(new TopicLogClosedError({ what: `Lane "${this.#options.lane.name}"` }));
    }
    const done = this.#last.then(() => this.#write(work));
    this.#last = done.catch(() => {});
    return done;
  }

  close(): Promise<void> {
    this.#closed ??= this.#last.then(async () => {
      const { link, lane, epoch, onClose } = this.#options;
      onClose(this);
      try {
        await link.call('close-lane', { name: lane.name, epoch });
      } catch {
        // With the log gone, so is its lane.
      }
    });
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #write(work: (tx: LaneTransaction) => void): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    const { link, lane, epoch, now } = this.#options;
    const collected = collect(work, lane);
    try {
      const hold = { name: lane.name, epoch };
      await link.call('write', { lane: hold, batches: collected.batches.list, offsets: collected.offsets, nowMs: now(), positions: false });
    } catch (error) {
      if (error instanceof LaneLostError) this.#lost = error;
      throw error;
    }
    for (const [key, value] of collected.state) {
      if (value === null) this.#state.delete(key);
      else this.#state.set(key, value);
    }
  }
}

interface Collected {
  readonly batches: AppendBatches;
  readonly offsets: OffsetCommit[];
  /** What the transaction does to the lane's state, in order. */
  readonly state: [key: string, value: string | null][];
}

function collect(work: (tx: LaneTransaction) => void, lane: LaneSpec): Collected {
  const collected: Collected = { batches: new AppendBatches(), offsets: [], state: [] };
  let open = true;
  const add = (record: NewRecord): void => {
    if (!open) throw new TopicLogClosedError({ what: 'This transaction' });
    collected.batches.add(record);
    if (record.topic === lane.state.topic && record.partition === lane.state.partition && record.key !== null) {
      collected.state.push([record.key, record.value]);
    }
  };
  const returned: unknown = work({
    append: (records) => records.forEach(add),
    checkpoint: (key, value) => add({ topic: lane.state.topic, partition: lane.state.partition, key, value }),
    commitOffset: ({ group, topic, partition, offset }: RecordPosition & { readonly group: string }) => {
      if (!open) throw new TopicLogClosedError({ what: 'This transaction' });
      collected.offsets.push({ group, topic, partition, next: offset });
    },
  });
  open = false;
  if (returned instanceof Promise) {
    returned.catch(() => {});
    throw new TypeError(
      `The work of a transaction of lane "${lane.name}" is asynchronous; nothing was written. Wait before the transaction, not in it.`,
    );
  }
  return collected;
}
