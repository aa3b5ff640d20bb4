import { LaneLostError } from '../lane-errors.ts';
import type { LiveState } from '../state-reading.ts';
import { TopicLogClosedError } from '../topic-log-errors.ts';
import type { LaneSpec, LaneTransaction, LaneWriter, StateReading } from '../topic-log.ts';
import { collectTransaction } from '../transaction-content.ts';
import { AppendBatches } from './append-batches.ts';
import type { WorkerLink } from './worker-link.ts';

export interface SqliteLaneWriterOptions {
  readonly link: WorkerLink;
  readonly lane: LaneSpec;
  readonly epoch: number;
  readonly state: LiveState;
  readonly now: () => number;
  readonly onClose: (writer: SqliteLaneWriter) => void;
}

export class SqliteLaneWriter implements LaneWriter {
  readonly #options: SqliteLaneWriterOptions;
  #last: Promise<unknown> = Promise.resolve();
  #lost: LaneLostError | undefined;
  #closed: Promise<void> | undefined;

  constructor(options: SqliteLaneWriterOptions) {
    this.#options = options;
  }

  get state(): StateReading {
    return this.#options.state;
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
    const { records, offsets, state: changes } = collectTransaction(work, lane);
    const batches = new AppendBatches();
    for (const record of records) batches.add(record);
    try {
      await link.call('write', { lane: { name: lane.name, epoch }, batches: batches.list, offsets, nowMs: now(), positions: false });
    } catch (error) {
      if (error instanceof LaneLostError) this.#lost = error;
      throw error;
    }
    this.#options.state.apply(changes);
  }
}
