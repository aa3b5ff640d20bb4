import { setTimeout as sleep } from 'node:timers/promises';
import type { AvailabilityWatcher } from '../availability.ts';
import { LaneLostError } from '../lane-errors.ts';
import { QueuedLaneWriter } from '../queued-lane-writer.ts';
import type { LiveState } from '../state-reading.ts';
import type { LaneSpec, LaneTransaction, StateReading } from '../topic-log.ts';
import { TopicLogBusyError, TopicLogFullError } from '../topic-log-errors.ts';
import { collectTransaction } from '../transaction-content.ts';
import { AppendBatches } from './append-batches.ts';
import type { WorkerLink } from './worker-link.ts';

export interface SqliteLaneWriterOptions {
  readonly link: WorkerLink;
  readonly lane: LaneSpec;
  readonly epoch: number;
  readonly state: LiveState;
  readonly now: () => number;
  /** Told what keeps the lane from being written, which then waits; without it the error is thrown. */
  readonly availability: AvailabilityWatcher | undefined;
  readonly onClose: (writer: SqliteLaneWriter) => void;
}

const TRY_AGAIN_MS = 1_000;

export class SqliteLaneWriter extends QueuedLaneWriter {
  readonly #options: SqliteLaneWriterOptions;
  readonly #closing = new AbortController();
  #lost: LaneLostError | undefined;

  constructor(options: SqliteLaneWriterOptions) {
    super(options.lane.name);
    this.#options = options;
  }

  override get state(): StateReading {
    return this.#options.state;
  }

  protected override async release(pending: Promise<unknown>): Promise<void> {
    this.#closing.abort();
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
    await this.#untilDone(() =>
      link.call('write', { lane: { name: lane.name, epoch }, batches: batches.list, offsets, nowMs: now(), positions: false }),
    );
    this.#options.state.apply(changes);
  }

  /** Nothing is written where the file is locked or full: it can be tried again until the lane is closed. */
  async #untilDone(write: () => Promise<unknown>): Promise<void> {
    const { availability } = this.#options;
    for (;;) {
      try {
        await write();
        availability?.reached();
        return;
      } catch (error) {
        if (error instanceof LaneLostError) this.#lost = error;
        const mayPass = error instanceof TopicLogBusyError || error instanceof TopicLogFullError;
        if (!mayPass || availability === undefined || this.#closing.signal.aborted) {
          availability?.reached();
          throw error;
        }
        availability.missed(error.message);
      }
      await sleep(TRY_AGAIN_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    }
  }
}
