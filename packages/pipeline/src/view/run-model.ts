import type { Clock } from '@headgate/throttle';
import type { BudgetGauge, CreditGauge, Doing, LaneGauge, Reason, RunEvent, RunGauges } from './events.ts';
import type { Forecast, ForecastOptions, LaneWork } from '../forecast/forecast.ts';
import { type Histogram, noObservations, type Observed, observe } from './histogram.ts';
import { MAX_IN_WORK } from '../walk/walk.ts';
import { forecast, walksDone } from '../forecast/forecast.ts';

/** A run at one instant, as plain data: a row for each request in work and for each budget, totals, and when it will be done. Times are epoch ms. */
export interface RunSnapshot {
  /** When the run began. */
  readonly startedAt: number;
  /** Time of the snapshot. */
  readonly now: number;
  /** Time of the last event, or of the start if there was none. */
  readonly lastEventAt: number;
  /** By name, in the order of `start`'s. */
  readonly pipelines: Readonly<Record<string, PipelineSnapshot>>;
  /** Walks in work here, and the last 1,000 that ended, in the order they began; then the keys of lookups, a row for each pipeline. */
  readonly work: readonly WorkRow[];
  /** One for each budget of each credential of the lanes held here. */
  readonly budgets: readonly BudgetGauge[];
  /** One for each lane held here. */
  readonly credits: readonly CreditGauge[];
  /** The lanes that this process works. */
  readonly lanes: readonly LaneGauge[];
  /** Lanes that no process resumes before the cause is fixed. */
  readonly failedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly reason: string }[];
  /** Lanes whose requests wait for the end of another client's open transaction, whose first record lies at that offset since then. */
  readonly blockedLanes: readonly { readonly pipeline: string; readonly lane: number; readonly offset: number; readonly since: number }[];
  /** Lanes that the group gives to this process; absent before it has said. */
  readonly lanesAssigned?: number;
  /** At the end: lanes that were other processes' to work. */
  readonly lanesElsewhere: number;
  /** Dead letters that this run has written, in all and by topic. */
  readonly deadLetters: {
    readonly total: number;
    readonly byTopic: Readonly<Record<string, number>>;
    /** The last 20. */
    readonly last: readonly { readonly at: number; readonly topic: string; readonly key: string; readonly error: Reason }[];
  };
  /** All pipelines together. */
  readonly progress: Progress;
}

/** How much of the work of the lanes held here is done. */
export interface Progress {
  /** Successful HTTP requests of this run. */
  readonly done: number;
  /** Remaining HTTP requests; a minimum if `isExact` is false, because some walks are new or a lane has failed. */
  readonly left: number;
  /** False where `left` and `doneAt` are lower bounds. */
  readonly isExact: boolean;
  /** Time of the last response, or the earliest time if `isExact` is false; absent if nothing is left. */
  readonly doneAt?: number;
}

/** One pipeline since the run began. */
export interface PipelineSnapshot {
  /** Name of its items. */
  readonly unit: string;
  /** Maximum items per page of a walk, if its definition says so. */
  readonly pageItems?: number;
  /** HTTP attempts by outcome. */
  readonly attempts: Readonly<Record<string, number>>;
  /** As well, by the name of the credential. */
  readonly credentials: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** From an attempt's permit to its end. */
  readonly attemptTimes: Histogram;
  /** When the last attempt succeeded. */
  readonly lastSuccessAt?: number;
  /** Durations of the log's transactions. */
  readonly commitTimes: Histogram;
  /** Attempts that met a fault, by the HTTP status of their answer or `none`. */
  readonly faults: Readonly<Record<string, number>>;
  /**
   * Set while no attempt succeeds: the start, the number of failures, the last reason, and the time of the next attempt, if known.
   * `waiting`: requests that leave the attempts to one of them while the service is down.
   */
  readonly failing?: {
    readonly since: number;
    readonly attempts: number;
    readonly reason: string;
    readonly retryAt?: number;
    readonly waiting?: number;
  };
  /** Durable records by topic, within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  /** Walks that began or were resumed, and those that have ended. */
  readonly walks: { readonly started: number; readonly completed: number; readonly failed: number };
  /** Pages of walks written. */
  readonly pages: number;
  /** Items of the pages written. */
  readonly items: number;
  /** Keys of lookups that were taken, and those of them that have an answer. */
  readonly keys: { readonly queued: number; readonly answered: number };
  /** Dead letters written. */
  readonly deadLetters: number;
  /** How much of the work of the pipeline's lanes held here is done. */
  readonly progress: Progress;
}

/** A request that is walked, or all keys of a pipeline's lookups. */
export type WorkRow = WalkRow | KeysRow;

/** A request that is walked, or that was in this run. */
export interface WalkRow {
  /** Tells the row from one of keys. */
  readonly kind: 'walk';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Partition of the pipeline's requests topic, counted from 0. */
  readonly lane: number;
  /** Key of the request. */
  readonly key: string;
  /** `<requests topic>-<partition>-<offset>`: two requests of one key are two rows. */
  readonly request: string;
  /** `failed`: it became a dead letter. */
  readonly state: 'working' | 'completed' | 'failed';
  /** Pages that are durable, those of earlier runs counted. */
  readonly pages: number;
  /** Items of those pages. */
  readonly items: number;
  /** Expected total pages, if known. */
  readonly expected?: number;
  /** Time of its last page's response, if the sizes of all walks of its lane are known: for the first 50 of a lane. */
  readonly doneAt?: number;
  /** While it is worked, and while work after it continues. */
  readonly doing?: Doing;
  /** Why it has failed; absent while it hasn't. */
  readonly error?: Reason;
}

/** The keys of a pipeline's lookups, all together. */
export interface KeysRow {
  /** Tells the row from a walk's. */
  readonly kind: 'keys';
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** Keys with an answer, and all that are known of, in this run. */
  readonly answered: number;
  /** All keys that are known of in this run, those without an answer counted. */
  readonly known: number;
  /** All keys in the requests topic are counted. */
  readonly isExact: boolean;
  /** Their durable records by topic, within the pipeline. */
  readonly records: Readonly<Record<string, number>>;
  /** The activity of the first lane of this process with active keys; absent if there is none. */
  readonly doing?: Doing;
}

export interface RunModelOptions {
  readonly clock: Clock;
  readonly pipelines: readonly { readonly name: string; readonly unit: string; readonly pageItems: number | undefined }[];
}

export interface RunModel {
  apply(event: RunEvent): void;
  /** A transaction of a pipeline's lane took so long. */
  committed(pipeline: string, ms: number): void;
  /** Start of the time in which every attempt of a pipeline failed, epoch ms; undefined while attempts succeed. */
  readonly failingSince: (pipeline: string) => number | undefined;
  /**
   * `left` returns the remaining work; called after an event, and once a second. Without it, the last forecast stays, and no time is shown.
   */
  snapshot(gauges: RunGauges, left?: () => readonly LaneWork[]): RunSnapshot;
  /** Renews the forecast, for a run that is about to release its lanes. */
  forecast(left: readonly LaneWork[]): void;
}

const KEPT_WALKS = 1_000;
const KEPT_AWAY = 10_000;
const KEPT_LETTERS = 20;
const FORECAST_EVERY_MS = 1_000;
/** Walks of a lane with their own finish time: each one requires a look at all others. */
const FORECAST_WALKS = 50;

/** A walk; `isAway`: another process works its lane, or none. */
type Walk = Omit<WalkRow, 'doing' | 'expected' | 'doneAt'> & { readonly isAway?: boolean };

/** Keeps of a run's events what a snapshot shows, in bounded memory. */
export function runModel({ clock, pipelines }: RunModelOptions): RunModel {
  const startedAt = clock.epochMs();
  const totals = new Map(pipelines.map((one) => [one.name, noTotals()]));
  const walks = new Map<string, Walk>();
  const failedLanes = new Map<string, RunSnapshot['failedLanes'][number]>();
  const blockedLanes = new Map<string, RunSnapshot['blockedLanes'][number]>();
  const byTopic: Record<string, number> = {};
  const letters: { at: number; topic: string; key: string; error: Reason }[] = [];
  let lanesAssigned: number | undefined;
  let lanesElsewhere = 0;
  let lastEventAt = startedAt;
  let endedWalks = 0;
  let awayWalks = 0;
  let forecastAtMs = -Infinity;
  let hasChanged = true;
  let walksForecastAtMs = -Infinity;
  let walksDoneAt: ReadonlyMap<string, number> = new Map();
  let forecasts: ReadonlyMap<string, PipelineForecast> = new Map();

  const of = (pipeline: string): Totals => {
    const known = totals.get(pipeline) ?? noTotals();
    totals.set(pipeline, known);
    return known;
  };
  const count = (counts: Record<string, number>, more: Readonly<Record<string, number>>): void => {
    for (const [name, number] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + number;
  };
  const change = (request: string, to: Partial<Walk>): void => {
    const walk = walks.get(request);
    if (walk !== undefined) walks.set(request, { ...walk, ...to });
  };
  /** Forgets the oldest of those that ended, or are away. */
  const forget = (isOld: (walk: Walk) => boolean): void => {
    for (const [request, walk] of walks) {
      if (!isOld(walk)) continue;
      walks.delete(request);
      return;
    }
  };
  const end = (request: string, to: Partial<Walk>): void => {
    change(request, { ...to, isAway: false });
    endedWalks += 1;
    if (endedWalks <= KEPT_WALKS) return;
    endedWalks -= 1;
    forget(({ state }) => state !== 'working');
  };
  const leave = ({ pipeline, lane }: { readonly pipeline: string; readonly lane: number }): void => {
    for (const [request, walk] of walks) {
      if (walk.state !== 'working' || walk.isAway || walk.pipeline !== pipeline || walk.lane !== lane) continue;
      walks.set(request, { ...walk, isAway: true });
      awayWalks += 1;
      if (awayWalks <= KEPT_AWAY) continue;
      awayWalks -= 1;
      forget(({ isAway }) => isAway === true);
    }
  };

  /** One for each type of event that changes something. */
  const changes: { readonly [Type in RunEvent['type']]?: (event: Extract<RunEvent, { type: Type }>, at: number) => void } = {
    'request-started'({ pipeline, lane, key, request, page, items }) {
      const before = walks.get(request);
      // A lane that has come back goes on with the walks it had.
      if (before?.state === 'working') {
        if (before.isAway) awayWalks -= 1;
        walks.set(request, { ...before, isAway: false, pages: page - 1, items });
        return;
      }
      of(pipeline).counts.walks.started += 1;
      walks.set(request, { kind: 'walk', pipeline, lane, key, request, state: 'working', pages: page - 1, items });
    },
    'page-written'({ pipeline, request, page, items }) {
      of(pipeline).counts.pages += 1;
      of(pipeline).counts.items += items;
      change(request, { pages: page, items: (walks.get(request)?.items ?? 0) + items });
    },
    'request-completed'({ pipeline, request, pages }) {
      of(pipeline).counts.walks.completed += 1;
      end(request, { state: 'completed', pages });
    },
    'request-failed'({ pipeline, request, error }) {
      of(pipeline).counts.walks.failed += 1;
      end(request, { state: 'failed', error });
    },
    'keys-queued'({ pipeline, count: more }) {
      of(pipeline).counts.keys.queued += more;
    },
    'keys-answered'({ pipeline, count: more }) {
      of(pipeline).counts.keys.answered += more;
    },
    'records-written'({ pipeline, kind, counts }) {
      count(of(pipeline).counts.records, counts);
      if (kind !== 'keys') return;
      of(pipeline).lookups += 1;
      count(of(pipeline).keyRecords, counts);
    },
    'after-written': ({ pipeline, counts }) => count(of(pipeline).counts.records, counts),
    'dead-letter'({ pipeline, topic, key, error }, at) {
      of(pipeline).counts.deadLetters += 1;
      count(byTopic, { [topic]: 1 });
      letters.push({ at, topic, key, error });
      if (letters.length > KEPT_LETTERS) letters.shift();
    },
    attempt({ pipeline, credential, outcome, status, reason = '', retryInMs, durationMs }, at) {
      const own = of(pipeline);
      count(own.counts.attempts, { [outcome]: 1 });
      count((own.counts.credentials[credential] ??= {}), { [outcome]: 1 });
      observe(own.counts.attemptTimes, durationMs);
      if (outcome === 'ok') {
        own.lastSuccessAt = at;
        own.answers += 1;
        own.answersMs += durationMs;
      }
      if (outcome === 'transient' || outcome === 'rate-limited') count(own.counts.faults, { [String(status ?? 'none')]: 1 });
      if (outcome !== 'transient') {
        own.failing = undefined;
        return;
      }
      const retryAt = retryInMs === undefined ? undefined : at + retryInMs;
      own.failing = {
        since: own.failing?.since ?? at - durationMs,
        attempts: (own.failing?.attempts ?? 0) + 1,
        reason,
        ...(retryAt !== undefined && { retryAt }),
      };
    },
    'lanes-assigned'({ lanes }) {
      lanesAssigned = lanes;
    },
    'lanes-elsewhere'({ lanes }) {
      lanesElsewhere = lanes;
    },
    'lane-opened': ({ pipeline, lane }) => void failedLanes.delete(laneName(pipeline, lane)),
    'lane-left'({ pipeline, lane, reason = '', failed }) {
      const name = laneName(pipeline, lane);
      leave({ pipeline, lane });
      blockedLanes.delete(name);
      if (failed === true) failedLanes.set(name, { pipeline, lane, reason });
    },
    'requests-blocked': ({ pipeline, lane, offset, since }) =>
      void blockedLanes.set(laneName(pipeline, lane), { pipeline, lane, offset, since }),
    'requests-readable': ({ pipeline, lane }) => void blockedLanes.delete(laneName(pipeline, lane)),
  };

  const doneOf = (pipeline: string): number => of(pipeline).counts.pages + of(pipeline).lookups;
  const forecastAll = (left: readonly LaneWork[]): void => {
    forecastAtMs = clock.monotonicMs();
    hasChanged = false;
    const now = clock.epochMs();
    const areWalksDue = forecastAtMs - walksForecastAtMs >= FORECAST_EVERY_MS;
    const doneAts = new Map<string, number>();
    const byPipeline = Map.groupBy(left, ({ pipeline }) => pipeline);
    const all = [...byPipeline].map(([pipeline, lanes]) => {
      const own = of(pipeline);
      const { answers, answersMs } = own;
      const requestMs = answers === 0 ? 0 : answersMs / answers;
      const doneBefore = doneOf(pipeline);
      if (areWalksDue)
        for (const lane of lanes) for (const [request, at] of walksDoneIn(lane, { now, requestMs })) doneAts.set(request, at);
      return [pipeline, { ...forecast(lanes, { now, requestMs }), doneBefore }] as const;
    });
    forecasts = new Map(all);
    if (!areWalksDue) return;
    walksForecastAtMs = forecastAtMs;
    walksDoneAt = doneAts;
  };

  return {
    apply(event) {
      lastEventAt = clock.epochMs();
      hasChanged = true;
      (changes[event.type] as ((event: RunEvent, at: number) => void) | undefined)?.(event, lastEventAt);
    },
    committed: (pipeline, ms) => observe(of(pipeline).counts.commitTimes, ms),
    failingSince: (pipeline) => of(pipeline).failing?.since,
    forecast: forecastAll,
    snapshot(gauges, left) {
      const now = clock.epochMs();
      if (left !== undefined && (hasChanged || clock.monotonicMs() - forecastAtMs >= FORECAST_EVERY_MS)) forecastAll(left());
      const agoMs = clock.monotonicMs() - forecastAtMs;
      const progressOf = (name: string): Progress => {
        const { requests, unknown, inMs, doneBefore } = forecasts.get(name) ?? NOTHING_LEFT;
        const done = doneOf(name);
        const rest = Math.max(0, requests - (done - doneBefore));
        const doneAt = Math.round(Math.max(now, now - agoMs + inMs));
        const isExact = unknown === 0 && ![...failedLanes.values()].some(({ pipeline }) => pipeline === name);
        return { done, left: rest, isExact, ...(left !== undefined && rest > 0 && { doneAt }) };
      };
      const shown = [...totals].map(([name, { failing, lastSuccessAt, counts }]): [string, PipelineSnapshot] => {
        const known = pipelines.find((one) => one.name === name);
        return [
          name,
          {
            ...structuredClone(counts),
            unit: known?.unit ?? 'records',
            ...(known?.pageItems !== undefined && { pageItems: known.pageItems }),
            ...(failing !== undefined && { failing: withOutages(failing, gauges.outages, name) }),
            ...(lastSuccessAt !== undefined && { lastSuccessAt }),
            progress: progressOf(name),
          },
        ];
      });
      return {
        startedAt,
        now,
        lastEventAt,
        pipelines: Object.fromEntries(shown),
        work: [
          ...walkRows(walks.values(), gauges, left === undefined ? new Map() : walksDoneAt),
          ...[...totals].flatMap(([name, own]) => keysRow(name, own, gauges)),
        ],
        budgets: gauges.budgets,
        credits: gauges.credits,
        lanes: gauges.lanes,
        failedLanes: [...failedLanes.values()],
        blockedLanes: [...blockedLanes.values()],
        ...(lanesAssigned !== undefined && { lanesAssigned }),
        lanesElsewhere,
        deadLetters: { total: sum(Object.values(byTopic)), byTopic: { ...byTopic }, last: [...letters] },
        progress: together(shown.map(([, { progress }]) => progress)),
      };
    },
  };
}

interface PipelineForecast extends Forecast {
  /** Requests that were done at the time of the forecast. */
  readonly doneBefore: number;
}

const NOTHING_LEFT: PipelineForecast = { requests: 0, unknown: 0, inMs: 0, doneBefore: 0 };

interface Totals {
  readonly counts: Counts;
  /** Records of lookups by topic. */
  readonly keyRecords: Record<string, number>;
  /** Answers so far, and how long they took in all. */
  answers: number;
  answersMs: number;
  /** Lookups with an answer, each one HTTP request. */
  lookups: number;
  failing: PipelineSnapshot['failing'] | undefined;
  lastSuccessAt: number | undefined;
}

interface Counts {
  readonly attempts: Record<string, number>;
  readonly credentials: Record<string, Record<string, number>>;
  readonly attemptTimes: Observed;
  readonly commitTimes: Observed;
  readonly faults: Record<string, number>;
  readonly records: Record<string, number>;
  readonly walks: { started: number; completed: number; failed: number };
  readonly keys: { queued: number; answered: number };
  pages: number;
  items: number;
  deadLetters: number;
}

function noTotals(): Totals {
  const counts = {
    attempts: {},
    credentials: {},
    attemptTimes: noObservations(),
    commitTimes: noObservations(),
    faults: {},
    records: {},
    walks: { started: 0, completed: 0, failed: 0 },
    keys: { queued: 0, answered: 0 },
    pages: 0,
    items: 0,
    deadLetters: 0,
  };
  return { counts, keyRecords: {}, answers: 0, answersMs: 0, lookups: 0, failing: undefined, lastSuccessAt: undefined };
}

/** What the sources of its lanes know better than their attempts show. */
function withOutages(
  failing: NonNullable<PipelineSnapshot['failing']>,
  outages: RunGauges['outages'],
  pipeline: string,
): NonNullable<PipelineSnapshot['failing']> {
  const own = outages.filter((outage) => outage.pipeline === pipeline);
  if (own.length === 0) return failing;
  const { retryAt: _, ...rest } = failing;
  const retryAt = Math.min(...own.map((outage) => outage.retryAt ?? Infinity));
  return { ...rest, ...(retryAt < Infinity && { retryAt }), waiting: sum(own.map(({ waiting }) => waiting)) };
}

function* walkRows(walks: Iterable<Walk>, { work }: RunGauges, doneAts: ReadonlyMap<string, number>): Generator<WalkRow> {
  const gauges = new Map(work.flatMap((gauge) => (gauge.request === undefined ? [] : [[gauge.request, gauge] as const])));
  for (const { isAway, ...walk } of walks) {
    const gauge = gauges.get(walk.request);
    gauges.delete(walk.request);
    if (isAway === true) continue;
    const expected = gauge?.expected;
    const doneAt = walk.state === 'working' ? doneAts.get(walk.request) : undefined;
    yield {
      ...walk,
      ...(expected !== undefined && { expected: Math.max(expected, walk.pages) }),
      ...(doneAt !== undefined && { doneAt }),
      ...(gauge !== undefined && { doing: gauge.doing }),
    };
  }
  // Work after a walk that an earlier run completed.
  for (const { pipeline, lane, key, request = '', doing } of gauges.values()) {
    if (doing.state === 'behind') yield { kind: 'walk', pipeline, lane, key, request, state: 'completed', pages: 0, items: 0, doing };
  }
}

/** When the first walks of a lane are done, by request; empty if a walk of unknown size takes turns with them. */
function walksDoneIn(lane: LaneWork, options: ForecastOptions): [request: string, doneAt: number][] {
  if ((lane.behind?.unknown ?? 0) > 0 || lane.walks.some(({ pages }) => pages === undefined)) return [];
  const done = walksDone(lane, { ...options, first: FORECAST_WALKS, atOnce: MAX_IN_WORK });
  return done.flatMap((inMs, i) => {
    const { request } = lane.walks[i] ?? {};
    return request === undefined ? [] : [[request, Math.round(options.now + inMs)]];
  });
}

function keysRow(pipeline: string, { counts: { keys }, keyRecords }: Totals, { lanes, work }: RunGauges): KeysRow[] {
  const own = lanes.filter((lane) => lane.pipeline === pipeline);
  const left = own.reduce((all, lane) => all + lane.keys, 0);
  const known = keys.answered + left;
  if (known === 0) return [];
  const doing = work.find((one) => one.pipeline === pipeline && one.request === undefined)?.doing;
  return [
    {
      kind: 'keys',
      pipeline,
      answered: keys.answered,
      known,
      isExact: own.every(({ isCounted }) => isCounted),
      records: { ...keyRecords },
      ...(doing !== undefined && { doing }),
    },
  ];
}

function together(all: readonly Progress[]): Progress {
  const doneAt = Math.max(0, ...all.flatMap((one) => one.doneAt ?? []));
  return {
    done: sum(all.map(({ done }) => done)),
    left: sum(all.map(({ left }) => left)),
    isExact: all.every(({ isExact }) => isExact),
    ...(doneAt > 0 && { doneAt }),
  };
}

function laneName(pipeline: string, lane: number): string {
  return `${pipeline}/${lane}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
