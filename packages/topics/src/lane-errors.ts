import { TopicLogError } from './topic-log-error.ts';

/** Another holder has the lane, so it can't be opened now. */
export class LaneHeldError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'LaneHeldError';
  /** Name of the lane, as in `LaneSpec.name`. */
  readonly lane: string;
  /** Process ID of the holder; null if it isn't known. */
  readonly pid: number | null;
  /** When the holder took the lane, milliseconds since the epoch; null if `pid` is null. */
  readonly sinceMs: number | null;

  constructor(details: { readonly lane: string; readonly pid: number | null; readonly sinceMs: number | null }, options?: ErrorOptions) {
    const pid = details.pid === null ? 'another process' : `process ${details.pid}`;
    const since = details.sinceMs === null ? '' : ` since ${new Date(details.sinceMs).toISOString()}`;
    super(
      {
        code: 'HEADGATE_LANE_HELD',
        retryable: true,
        message: `Lane "${details.lane}" is held by ${pid}${since}. A lane has one holder: stop it, or try again after it ends.`,
      },
      options,
    );
    this.lane = details.lane;
    this.pid = details.pid;
    this.sinceMs = details.sinceMs;
  }
}

/**
 * Another holder has taken the lane, so this holder can't write any more. Open the lane again to continue from its state. On Kafka, the new holder
 * can still complete the transaction that threw this error.
 */
export class LaneLostError extends TopicLogError {
  /** Stays the same if a bundler renames classes. */
  override readonly name = 'LaneLostError';
  /** Name of the lane, as in `LaneSpec.name`. */
  readonly lane: string;
  /** Description of the new holder, if known. */
  readonly by: string | undefined;

  constructor(details: { readonly lane: string; readonly by?: string }, options?: ErrorOptions) {
    super(
      {
        code: 'HEADGATE_LANE_LOST',
        message: `Lane "${details.lane}" was taken over by ${details.by ?? 'another holder'}. Open the lane again and continue from its state, which shows what was written.`,
      },
      options,
    );
    this.lane = details.lane;
    this.by = details.by;
  }
}
