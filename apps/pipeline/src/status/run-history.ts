import { steadyTime } from '@headgate/pipeline/internal';
import type { Clock } from '@headgate/throttle';
import { isNews } from './format-event.ts';
import type { DisplayEvent } from './display-event.ts';

/** The recent history of a run, in a limited amount of memory. Times are epoch ms. */
export interface RunHistory {
  /** Failed attempts, grouped by pipeline, outcome and HTTP status, the latest first. */
  readonly faults: readonly Fault[];
  /** The last 50 events that a display shows individually, in order. */
  readonly events: readonly { /** Position in the run. */ readonly number: number; readonly at: number; readonly event: DisplayEvent }[];
}

export interface Fault {
  readonly pipeline: string;
  readonly outcome: string;
  /** The HTTP status; absent without a response. */
  readonly status?: number;
  readonly count: number;
  /** Times of the first attempt (`since`) and the last one (`last`) in this run. */
  readonly since: number;
  readonly last: number;
  /** Why the last one failed. */
  readonly reason: string;
}

const KEPT_FAULTS = 100;
const KEPT_EVENTS = 50;

export interface RunHistorian {
  readonly apply: (event: DisplayEvent) => void;
  readonly history: () => RunHistory;
}

/** Records when events happened, because a run's snapshot has only totals. */
export function runHistory(clock: Clock): RunHistorian {
  const time = steadyTime(clock);
  const faults = new Map<string, Fault>();
  const events: { number: number; at: number; event: DisplayEvent }[] = [];
  let lastNumber = 0;

  const fail = ({ pipeline, outcome, status, reason = '' }: Extract<DisplayEvent, { type: 'attempt' }>): void => {
    const name = `${pipeline} ${outcome} ${status ?? ''}`;
    const last = time.now();
    const before = faults.get(name);
    // Deleting before setting moves the entry to the end of the map, so the oldest entry comes first.
    faults.delete(name);
    const since = before?.since ?? last;
    faults.set(name, { pipeline, outcome, ...(status !== undefined && { status }), count: (before?.count ?? 0) + 1, since, last, reason });
    const [oldest = ''] = faults.keys();
    if (faults.size > KEPT_FAULTS) faults.delete(oldest);
  };

  return {
    apply(event) {
      if (event.type === 'attempt' && event.outcome !== 'ok' && event.outcome !== 'gone') fail(event);
      if (!isNews(event)) return;
      lastNumber += 1;
      events.push({ number: lastNumber, at: time.now(), event });
      if (events.length > KEPT_EVENTS) events.shift();
    },
    history: () => ({
      faults: Array.from(faults.values(), (one) => ({ ...one, since: time.onWall(one.since), last: time.onWall(one.last) })).toReversed(),
      events: events.map((one) => ({ ...one, at: time.onWall(one.at) })),
    }),
  };
}
