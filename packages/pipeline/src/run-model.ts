import type { Clock } from '@headgate/throttle';
import type { Reason, RunEvent, RunGauges } from './events.ts';

/** A run at one instant: the events so far, and the gauges now. */
export interface RunSnapshot extends RunGauges {
  /** Epoch ms. */
  readonly startedAt: number;
  readonly now: number;
  readonly pipelines: Readonly<Record<string, PipelineTotals>>;
  /** Walks of this run: those in flight, and the last 1,000 that ended, in the order they began. */
  readonly walks: readonly WalkSnapshot[];
  /** The last 20. */
  readonly deadLetters: readonly { readonly at: number; readonly topic: string; readonly key: string; readonly error: Reason }[];
  readonly lanes: readonly LaneSnapshot[];
}

/** Counts of one pipeline since the run began. */
export interface PipelineTotals {
  /** HTTP attempts by outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** Durable records by topic, within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  readonly walks: { readonly started: number; readonly completed: number; readonly failed: number };
  readonly pages: number;
  readonly items: number;
  readonly keys: { readonly queued: number; readonly answered: number };
  readonly deadLetters: number;
}

export interface WalkSnapshot {
  readonly pipeline: string;
  readonly key: string;
  readonly request: string;
  readonly state: 'working' | 'completed' | 'failed';
  /** Pages that are durable, those of earlier runs counted. */
  readonly pages: number;
  /** Of this run. */
  readonly items: number;
  readonly error?: Reason;
}

export interface LaneSnapshot {
  readonly pipeline: string;
  readonly lane: number;
  readonly state: 'open' | 'left' | 'failed';
  readonly reason?: string;
}

export interface RunModel {
  apply(event: RunEvent): void;
  snapshot(gauges: RunGauges): RunSnapshot;
}

const KEPT_WALKS = 1_000;
const KEPT_LETTERS = 20;

interface Totals {
  attempts: Record<string, number>;
  records: Record<string, number>;
  walks: { started: number; completed: number; failed: number };
  pages: number;
  items: number;
  keys: { queued: number; answered: number };
  deadLetters: number;
}

/** Keeps of a run's events what a snapshot shows, in bounded memory. */
export function runModel({ clock }: { readonly clock: Clock }): RunModel {
  const startedAt = clock.epochMs();
  const totals = new Map<string, Totals>();
  const walks = new Map<string, WalkSnapshot>();
  const lanes = new Map<string, LaneSnapshot>();
  const deadLetters: { at: number; topic: string; key: string; error: Reason }[] = [];
  let endedWalks = 0;

  const of = (pipeline: string): Totals => {
    const known = totals.get(pipeline);
    if (known !== undefined) return known;
    const made = {
      attempts: {},
      records: {},
      walks: { started: 0, completed: 0, failed: 0 },
      pages: 0,
      items: 0,
      keys: { queued: 0, answered: 0 },
      deadLetters: 0,
    };
    totals.set(pipeline, made);
    return made;
  };
  const change = (request: string, to: (walk: WalkSnapshot) => WalkSnapshot): void => {
    const walk = walks.get(request);
    if (walk !== undefined) walks.set(request, to(walk));
  };
  const endWalk = (request: string, to: (walk: WalkSnapshot) => WalkSnapshot): void => {
    change(request, to);
    endedWalks += 1;
    if (endedWalks <= KEPT_WALKS) return;
    for (const [oldest, { state }] of walks) {
      if (state === 'working') continue;
      walks.delete(oldest);
      endedWalks -= 1;
      return;
    }
  };
  const count = (counts: Record<string, number>, more: Readonly<Record<string, number>>): void => {
    for (const [name, number] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + number;
  };
  const setLane = (lane: LaneSnapshot): void => void lanes.set(`${lane.pipeline}/${lane.lane}`, lane);

  return {
    apply(event) {
      switch (event.type) {
        case 'request-started': {
          const { pipeline, key, request, page } = event;
          of(pipeline).walks.started += 1;
          walks.set(request, { pipeline, key, request, state: 'working', pages: page - 1, items: 0 });
          return;
        }
        case 'page-written': {
          const { pipeline, request, page, items } = event;
          of(pipeline).pages += 1;
          of(pipeline).items += items;
          change(request, (walk) => ({ ...walk, pages: page, items: walk.items + items }));
          return;
        }
        case 'request-completed':
          of(event.pipeline).walks.completed += 1;
          endWalk(event.request, (walk) => ({ ...walk, state: 'completed', pages: event.pages }));
          return;
        case 'request-failed':
          of(event.pipeline).walks.failed += 1;
          endWalk(event.request, (walk) => ({ ...walk, state: 'failed', error: event.error }));
          return;
        case 'keys-queued':
          of(event.pipeline).keys.queued += event.count;
          return;
        case 'keys-answered':
          of(event.pipeline).keys.answered += event.count;
          return;
        case 'records-written':
        case 'after-written':
          count(of(event.pipeline).records, event.counts);
          return;
        case 'dead-letter': {
          const { pipeline, topic, key, error } = event;
          of(pipeline).deadLetters += 1;
          deadLetters.push({ at: clock.epochMs(), topic, key, error });
          if (deadLetters.length > KEPT_LETTERS) deadLetters.shift();
          return;
        }
        case 'attempt':
          count(of(event.pipeline).attempts, { [event.outcome]: 1 });
          return;
        case 'lane-opened':
          setLane({ pipeline: event.pipeline, lane: event.lane, state: 'open' });
          return;
        case 'lane-left': {
          const { pipeline, lane, reason, failed } = event;
          setLane({ pipeline, lane, state: failed === true ? 'failed' : 'left', ...(reason !== undefined && { reason }) });
          return;
        }
        case 'notice':
        case 'requests-blocked':
        case 'requests-readable':
        case 'lanes-assigned':
        case 'lanes-elsewhere':
          return;
      }
    },
    snapshot: (gauges) => ({
      ...gauges,
      startedAt,
      now: clock.epochMs(),
      pipelines: Object.fromEntries([...totals].map(([name, value]) => [name, structuredClone(value)])),
      walks: [...walks.values()],
      deadLetters: [...deadLetters],
      lanes: [...lanes.values()],
    }),
  };
}
