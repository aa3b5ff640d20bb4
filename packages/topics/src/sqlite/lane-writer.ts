import { LaneLostError } from '../lane-errors.ts';
import { QueuedLaneWriter } from '../queued-lane-writer.ts';
import type { LiveState } from '../state-reading.ts';
import type { LaneSpec, LaneTransaction, StateReading } from '../topic-log.ts';
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

export class SqliteLaneWriter extends QueuedLaneWriter {
  readonly #options: SqliteLaneWriterOptions;
  #lost: LaneLostError | undefined;

  constructor(options: SqliteLaneWriterOptions) {
    super(options.lane.name);
    this.#options = options;
  }

  override get state(): StateReading {
    return this.#options.state;
  }

  protected override async release(pending: Promise<unknown>): Promise<void> {
    await pending;
    const { link, lane, epoch, onClose } = this.#options;
    onClose(this);
    try {
      await link.call('close-lane', { name: lane.name, epoch });
    } catch {
      // With the log gone, so is its lane.
    }
  }

  protected override async write(work: (tx: LaneTransaction) => void): Promise<void> {
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
