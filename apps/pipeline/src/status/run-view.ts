import type { Running, RunResult, RunSnapshot } from '@headgate/pipeline';
import type { AvailabilityChange } from '@headgate/topics';
import { steadyTime } from '@headgate/pipeline/internal';
import type { Clock } from '@headgate/throttle';
import type { DisplayEvent, LogDriver, LogEvent, LogUnavailable } from './display-event.ts';
import type { OpenDeadLetters } from './open-dead-letters.ts';
import { type RunHistory, runHistory } from './run-history.ts';

/** The state of a run for displays: the engine's snapshot, and what only the app knows, such as open dead letters. */
export interface RunView extends RunSnapshot {
  /** Set during an outage of the log. */
  readonly logUnavailable?: LogUnavailable;
  /** Duration of the run. Changes of the wall clock have no effect on it. */
  readonly elapsedMs: number;
  /** Whether `attach` was called, which means that the run has started. */
  readonly isStarted: boolean;
  /** Whether the run was told to stop. It then writes the work in flight, and ends. */
  readonly isStopping: boolean;
  /** Whether this process has left a lane. Displays then show the lanes that it holds. */
  readonly isLaneLeft: boolean;
  /** Whether this process holds no lane because the work of its lanes is done. */
  readonly isDoneHere: boolean;
  /** Set after the run has ended. */
  readonly outcome?: RunOutcome;
  /** The process and its configuration, without secrets. */
  readonly about: RunAbout;
  readonly history: RunHistory;
  /**
   * Dead letters that were neither replayed nor dismissed, of this run and earlier ones, by pipeline and code; absent before they are
   * counted.
   */
  readonly openDeadLetters?: OpenDeadLetters;
}

export type RunOutcome = RunResult['outcome'];

export interface RunAbout {
  readonly version: string;
  readonly host: string;
  readonly pid: number;
  /** Name of the configuration file, or of the program that uses the library. */
  readonly config: string;
  /** Address of the log, such as a file or Kafka's brokers. */
  readonly log: string;
  readonly group: string;
  /** Number of partitions of each requests topic. */
  readonly lanes: number;
  readonly pipelines: readonly {
    readonly name: string;
    /** Names of the credentials that lanes split. */
    readonly credentials?: readonly string[];
    /** Interval between two crawls of its lists; absent if they are crawled once. */
    readonly everyMs?: number;
    /** Maximum items that may be requested and not yet written. */
    readonly maxOutstanding: number;
  }[];
}

export interface RunViewer {
  apply(event: DisplayEvent): void;
  /** Call with each new count of open dead letters. */
  counted(open: OpenDeadLetters): void;
  /** Call after the run has started. */
  attach(running: Pick<Running, 'snapshot'>): void;
  /** Call after the run has ended. Views use the snapshot `last` from then on. Default: a snapshot taken now. */
  end(outcome: RunOutcome, last?: RunSnapshot): void;
  view(): RunView;
}

/** Watches a run from before it has its lanes until after it has released them. `signal` is aborted when the run must stop. */
export function runViewer(clock: Clock, signal: AbortSignal, about: RunAbout): RunViewer {
  const time = steadyTime(clock);
  const startedAt = time.now();
  const startedMonotonicMs = clock.monotonicMs();
  let running: Pick<Running, 'snapshot'> | undefined;
  let last: RunSnapshot | undefined;
  let outcome: RunOutcome | undefined;
  const past = runHistory(clock);
  let logUnavailable: RunView['logUnavailable'];
  let openDeadLetters: OpenDeadLetters | undefined;
  let isLaneLeft = false;
  /** Lanes that were opened and not left. A lane whose work is done is closed without an event. */
  const kept = new Set<string>();

  return {
    apply(event) {
      past.apply(event);
      if (event.type === 'log-unavailable') {
        const since = logUnavailable?.since ?? time.now() - Math.max(0, clock.epochMs() - event.since);
        logUnavailable = { ...event, since };
      } else if (event.type === 'log-available') logUnavailable = undefined;
      else if (event.type === 'lane-opened') kept.add(`${event.pipeline}/${event.lane}`);
      else if (event.type === 'lane-left') {
        isLaneLeft = true;
        kept.delete(`${event.pipeline}/${event.lane}`);
      }
    },
    counted(open) {
      openDeadLetters = open;
    },
    attach(begun) {
      running = begun;
    },
    end(how, snapshot = running?.snapshot()) {
      outcome = how;
      last = snapshot;
    },
    view() {
      const snapshot = last ?? running?.snapshot() ?? nothing(time.onWall(startedAt));
      // Read after the snapshot. Otherwise a budget that the snapshot reports as free could become free only after `now`.
      const now = clock.epochMs();
      return {
        ...snapshot,
        startedAt: time.onWall(startedAt),
        now,
        elapsedMs: clock.monotonicMs() - startedMonotonicMs,
        ...(logUnavailable !== undefined && { logUnavailable: { ...logUnavailable, since: time.onWall(logUnavailable.since) } }),
        isStarted: running !== undefined,
        isStopping: signal.aborted,
        isLaneLeft,
        isDoneHere: snapshot.lanes.length === 0 && kept.size > 0,
        ...(outcome !== undefined && { outcome }),
        about,
        history: past.history(),
        ...(openDeadLetters !== undefined && { openDeadLetters }),
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
  const { reason, sinceMs: since } = change;
  return { type: 'log-unavailable', driver, reason, since };
}

/** Calls `run` every `ms` milliseconds. Returns a function that ends the calls. */
export function every(clock: Clock, ms: number, run: () => void): () => void {
  let cancel = clock.schedule(ms, again);
  function again(): void {
    cancel = clock.schedule(ms, again);
    run();
  }
  return () => cancel();
}
