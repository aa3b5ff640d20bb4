import type { Running, RunEvent, RunSnapshot } from '@headgate/pipeline';
import type { AvailabilityChange } from '@headgate/topics';
import type { Clock } from '@headgate/throttle';

export type LogDriver = 'kafka' | 'sqlite';

/** All that a display is told: the engine's events, those of the log, and the run's own beginning and end. */
export type DisplayEvent = RunEvent | LogEvent;

export type LogEvent =
  | {
      /** The brokers can't be worked with, or the file can't be written; told once that has lasted two seconds. */
      readonly type: 'log-unavailable';
      readonly driver: LogDriver;
      readonly reason: string;
      /** It answers, and refuses: the reason says which rights are missing. Told again when that changes. */
      readonly refused?: true;
      /** Epoch ms. */
      readonly since: number;
    }
  | { readonly type: 'log-available'; readonly driver: LogDriver };

/** A run as its displays see it: the engine's snapshot, and what the engine does not know. */
export interface RunView extends RunSnapshot {
  /** Set while the log can't be worked with. */
  readonly logUnavailable?: Extract<LogEvent, { type: 'log-unavailable' }>;
  /** The run has its lanes. */
  readonly isStarted: boolean;
  /** It was told to stop, and writes what is in flight. */
  readonly isStopping: boolean;
  /** A lane was left here: how lanes are shared out is of interest. */
  readonly isLaneLeft: boolean;
}

export interface RunViewer {
  apply(event: DisplayEvent): void;
  /** The run has begun. */
  attach(running: Running): void;
  /** Its snapshot at the end stands from now on. */
  end(last: RunSnapshot): void;
  view(): RunView;
}

export interface RunViewerOptions {
  readonly clock: Clock;
  /** Aborted when the run is to stop. */
  readonly signal: AbortSignal;
}

/** Sees a run from before it has its lanes until after it has given them up. */
export function runViewer({ clock, signal }: RunViewerOptions): RunViewer {
  const startedAt = clock.epochMs();
  let running: Running | undefined;
  let last: RunSnapshot | undefined;
  let logUnavailable: RunView['logUnavailable'];
  let isLaneLeft = false;

  return {
    apply(event) {
      if (event.type === 'log-unavailable') logUnavailable = { ...event, since: logUnavailable?.since ?? event.since };
      else if (event.type === 'log-available') logUnavailable = undefined;
      else if (event.type === 'lane-left') isLaneLeft = true;
    },
    attach(begun) {
      running = begun;
    },
    end(ended) {
      last = ended;
    },
    view() {
      const now = clock.epochMs();
      return {
        ...(last ?? running?.snapshot() ?? nothing(startedAt)),
        startedAt,
        now,
        ...(logUnavailable !== undefined && { logUnavailable }),
        isStarted: running !== undefined,
        isStopping: signal.aborted,
        isLaneLeft,
      };
    },
  };
}

function nothing(now: number): RunSnapshot {
  return {
    startedAt: now,
    now,
    lastEventAt: now,
    pipelines: {},
    work: [],
    budgets: [],
    credits: [],
    lanes: [],
    failedLanes: [],
    blockedLanes: [],
    lanesElsewhere: 0,
    deadLetters: { total: 0, byTopic: {}, last: [] },
    progress: { done: 0, left: 0, isExact: true },
  };
}

/** A change of the log's availability as an event. */
export function logEvent(driver: LogDriver, change: AvailabilityChange): LogEvent {
  if (change.available) return { type: 'log-available', driver };
  const { reason, sinceMs: since, refused } = change;
  return { type: 'log-unavailable', driver, reason, since, ...(refused && { refused }) };
}

/** Does something again and again; returns what ends that. */
export function every(clock: Clock, ms: number, run: () => void): () => void {
  let cancel = clock.schedule(ms, again);
  function again(): void {
    cancel = clock.schedule(ms, again);
    run();
  }
  return () => cancel();
}
