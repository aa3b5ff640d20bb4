import { setTimeout as sleep } from 'node:timers/promises';
import type { AvailabilityWatcher } from '../availability.ts';
import { LaneLostError } from '../lane-errors.ts';
import { QueuedLaneWriter } from '../queued-lane-writer.ts';
import type { LiveState } from '../state-reading.ts';
import type { LaneSpec, LaneTransaction, NewRecord, RecordPosition, RecordSeries, StateReading } from '../topic-log.ts';
import { TopicLogError, type TopicLogErrorCode } from '../topic-log-error.ts';
import { collectTransaction, stateChanges } from '../transaction-content.ts';
import { assertOffset } from './argument-checks.ts';
import type { CommitWatch } from './commit-watch.ts';
import type { WorkerLink } from './worker-link.ts';
import { WrittenRecords } from './written-records.ts';

export interface SqliteLaneWriterOptions {
  readonly link: WorkerLink;
  readonly commits: CommitWatch;
  readonly lane: LaneSpec;
  readonly epoch: number;
  readonly state: LiveState;
  readonly now: () => number;
  /** If set, transactions wait while the file is locked or full, and the watcher gets the reason. If not, transactions throw. */
  readonly availability: AvailabilityWatcher | undefined;
  readonly file: string;
  readonly onClose: (writer: SqliteLaneWriter) => void;
}

const TRY_AGAIN_MS = 1_000;
/** Errors that a lane waits out, with the texts to display. */
const PASSING: Partial<Record<TopicLogErrorCode, (file: string) => string>> = {
  HEADGATE_TOPIC_LOG_BUSY: (file) => `${file} is locked by another process`,
  HEADGATE_TOPIC_LOG_FULL: (file) => `no space to write ${file}: free some space on that disk, or raise its quota or size limit`,
};

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

  protected override async release(): Promise<void> {
    this.#closing.abort();
    const { link, lane, epoch, onClose } = this.#options;
    // A log that can't respond no longer holds any lane, so there is nothing to release.
    await this.queued(() => link.call('closeLane', { name: lane.name, epoch })).catch(() => undefined);
    onClose(this);
  }

  protected override async write(work: (tx: LaneTransaction) => void): Promise<void> {
    if (this.#lost !== undefined) throw this.#lost;
    const { link, commits, lane, epoch, now } = this.#options;
    const { records, offsets } = collectTransaction(work, lane);
    for (const offset of offsets) assertOffset(offset);
    const written = new WrittenRecords(records);
    const pairs = await this.#untilDone(() => link.call('write', { name: lane.name, epoch }, written.entries, offsets, now()));
    commits.committed(written.topics);
    // A record of the state's topic without a partition may belong to the lane's state, because of its key.
    const isPlaced = records.every(({ topic, partition }) => topic !== lane.state.topic || partition !== undefined);
    const placed = isPlaced ? records : placedRecords(records, written.positions(pairs));
    this.#options.state.apply(stateChanges(placed, lane.state));
  }

  /** With a watcher, retries while the file is locked or full, until the lane is closed. A retry is safe, because nothing was written. */
  async #untilDone<T>(write: () => Promise<T>): Promise<T> {
    const { availability, file } = this.#options;
    for (;;) {
      try {
        const written = await write();
        availability?.available();
        return written;
      } catch (error) {
        if (error instanceof LaneLostError) this.#lost = error;
        const passing = error instanceof TopicLogError ? PASSING[error.code] : undefined;
        if (passing === undefined) availability?.available();
        else if (this.#closing.signal.aborted) availability?.abandoned();
        if (passing === undefined || availability === undefined || this.#closing.signal.aborted) throw error;
        availability.unavailable(passing(file));
      }
      await sleep(TRY_AGAIN_MS, undefined, { signal: this.#closing.signal }).catch(() => undefined);
    }
  }
}

function placedRecords(
  records: readonly (NewRecord | RecordSeries)[],
  positions: readonly RecordPosition[],
): readonly (NewRecord | RecordSeries)[] {
  return records.map((record, index) => ({ ...record, partition: record.partition ?? positions[index]?.partition ?? 0 }));
}
