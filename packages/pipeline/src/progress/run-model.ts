import type { Clock } from '@headgate/throttle';
import type { Pipeline } from '../definition/pipeline.ts';
import type { JobGroups } from '../definition/pipeline-definition.ts';
import type { LaneWork } from './forecast.ts';
import { growingGroups } from './growing-groups.ts';
import type { Reason, RunEvent, RunGauges } from '../events/events.ts';
import { noObservations, observe } from '../events/histogram.ts';
import { RunProgress, totalProgress } from './run-progress.ts';
import type { JobGroup, KeysRow, PipelineSnapshot, RunSnapshot, WalkRow } from './run-snapshot.ts';
import { type SteadyTime, steadyTime } from '../events/steady-time.ts';
import { WalkRows } from './walk-rows.ts';

type ModelledPipeline = Pick<Pipeline, 'name' | 'unit' | 'pageItems' | 'groups'>;

const KEPT_DEAD_LETTERS = 20;

/** Collects the parts of a run's events that a snapshot shows, in bounded memory. */
export class RunModel {
  readonly time: SteadyTime;
  readonly #clock: Clock;
  readonly #pipelines: readonly ModelledPipeline[];
  readonly #startedAt: number;
  readonly #totals: Map<string, Totals>;
  readonly #walks = new WalkRows();
  readonly #failedLanes = new Map<string, RunSnapshot['failedLanes'][number]>();
  readonly #blockedLanes = new Map<string, RunSnapshot['blockedLanes'][number]>();
  readonly #byTopic = counter();
  readonly #deadLetters: { at: number; topic: string; key: string; error: Reason }[] = [];
  readonly #progress: RunProgress;
  #lanesAssigned: number | undefined;
  #lanesElsewhere = 0;
  #lastEventAt: number;

  constructor(clock: Clock, pipelines: readonly ModelledPipeline[]) {
    this.time = steadyTime(clock);
    this.#clock = clock;
    this.#pipelines = pipelines;
    this.#startedAt = this.#lastEventAt = this.time.now();
    this.#totals = new Map(pipelines.map((one) => [one.name, new Totals()]));
    this.#progress = new RunProgress(
      clock,
      (pipeline) => this.#of(pipeline).done,
      (pipeline) => this.#of(pipeline).requestMs,
    );
  }

  apply(event: RunEvent): void {
    this.#lastEventAt = this.time.now();
    this.#progress.noteChange();
    switch (event.type) {
      case 'attempt':
        return this.#of(event.pipeline).attempt(event, this.#lastEventAt);
      case 'request-started':
        if (this.#walks.started(event)) this.#of(event.pipeline).counts.walks.started += 1;
        return;
      case 'page-written':
        this.#of(event.pipeline).pageWritten(event.items, event.group);
        return this.#walks.pageWritten(event.request, event.page, event.items);
      case 'request-completed':
        this.#of(event.pipeline).ended('completed', event.group);
        return this.#walks.end(event.request, { state: 'completed', pages: event.pages });
      case 'request-failed':
        this.#of(event.pipeline).ended('failed', event.group);
        return this.#walks.end(event.request, { state: 'failed', error: event.error });
      case 'keys-queued':
        this.#of(event.pipeline).counts.keys.queued += event.count;
        return;
      case 'keys-answered':
        this.#of(event.pipeline).counts.keys.answered += event.count;
        return;
      case 'records-written':
        return this.#of(event.pipeline).recordsWritten(event.counts, event.kind === 'keys');
      case 'after-written':
        return this.#of(event.pipeline).recordsWritten(event.counts, false);
      case 'dead-letter':
        return this.#deadLetter(event);
      case 'lanes-assigned':
        this.#lanesAssigned = event.lanes;
        return;
      case 'lanes-elsewhere':
        this.#lanesElsewhere = event.lanes;
        return;
      case 'lane-opened':
        return void this.#failedLanes.delete(laneName(event));
      case 'lane-left':
        return this.#laneLeft(event);
      case 'requests-blocked': {
        const { pipeline, lane, offset, since } = event;
        return void this.#blockedLanes.set(laneName(event), { pipeline, lane, offset, since });
      }
      case 'requests-readable':
        return void this.#blockedLanes.delete(laneName(event));
      case 'notice':
      case 'service-unavailable':
      case 'service-available':
    }
  }

  /** Adds the duration of a durable transaction of a pipeline's lane. */
  committed(pipeline: string, ms: number): void {
    observe(this.#of(pipeline).counts.commitTimes, ms);
  }

  /** Returns when the attempts of a pipeline started to fail, on the clock of `time`. Undefined while they don't. */
  failingSince(pipeline: string): number | undefined {
    return this.#of(pipeline).failing?.since;
  }

  /** Renews the forecast for the run's last snapshot, which gets no `left`. Call it when the run is told to stop, and when it has ended. */
  forecast(left: readonly LaneWork[]): void {
    this.#progress.forecast(left);
  }

  /**
   * Returns the state of the run. Calls `left`, which returns the remaining work, if an event has come since the last forecast, or if that
   * forecast is at least a second old. Without `left`, the snapshot has the last forecast, and no finish time.
   */
  snapshot(gauges: RunGauges, left?: () => readonly LaneWork[]): RunSnapshot {
    const { time } = this;
    if (left !== undefined && this.#progress.isDue) this.#progress.forecast(left());
    const rows = [...this.#walks.rows(gauges.work)];
    const pipelines = Array.from(this.#totals, ([name, own]): readonly [string, PipelineSnapshot] => [
      name,
      this.#pipelineSnapshot(name, own, gauges, rows, left !== undefined),
    ]);
    return {
      startedAt: time.onWall(this.#startedAt),
      now: this.#clock.epochMs(),
      lastEventAt: time.onWall(this.#lastEventAt),
      pipelines: Object.fromEntries(pipelines),
      work: [...rows, ...[...this.#totals].flatMap(([name, own]) => keysRow(name, own, gauges))],
      budgets: gauges.budgets,
      credits: gauges.credits,
      lanes: gauges.lanes,
      failedLanes: [...this.#failedLanes.values()],
      blockedLanes: [...this.#blockedLanes.values()],
      ...(this.#lanesAssigned !== undefined && { lanesAssigned: this.#lanesAssigned }),
      lanesElsewhere: this.#lanesElsewhere,
      deadLetters: {
        total: sum(Object.values(this.#byTopic)),
        byTopic: { ...this.#byTopic },
        last: this.#deadLetters.map((deadLetter) => ({ ...deadLetter, at: time.onWall(deadLetter.at) })),
      },
      progress: totalProgress(pipelines.map(([, { progress }]) => progress)),
    };
  }

  #pipelineSnapshot(name: string, own: Totals, gauges: RunGauges, rows: readonly WalkRow[], isTimed: boolean): PipelineSnapshot {
    const { time } = this;
    const { failing, lastSuccessAt } = own;
    const known = this.#pipelines.find((one) => one.name === name);
    const groups =
      known?.groups &&
      jobGroups(
        known.groups,
        own.groups,
        gauges.lanes.filter(({ pipeline }) => pipeline === name),
        rows.filter(({ pipeline, state }) => pipeline === name && state === 'working'),
      );
    const isGrowing = Object.values(groups ?? {}).some(({ isExact }) => !isExact);
    const hasFailed = this.#failedLanes.values().some(({ pipeline }) => pipeline === name);
    return {
      ...structuredClone(own.counts),
      unit: known?.unit ?? 'records',
      ...(known?.pageItems !== undefined && { pageItems: known.pageItems }),
      ...(failing !== undefined && { failing: withOutages(failingOnWall(failing, time), gauges.outages, name) }),
      ...(lastSuccessAt !== undefined && { lastSuccessAt: time.onWall(lastSuccessAt) }),
      ...(groups !== undefined && { groups }),
      progress: this.#progress.of(name, !hasFailed && !isGrowing, isTimed),
    };
  }

  #of(pipeline: string): Totals {
    const known = this.#totals.get(pipeline) ?? new Totals();
    this.#totals.set(pipeline, known);
    return known;
  }

  #deadLetter({ pipeline, topic, key, error }: Extract<RunEvent, { type: 'dead-letter' }>): void {
    this.#of(pipeline).counts.deadLetters += 1;
    add(this.#byTopic, { [topic]: 1 });
    this.#deadLetters.push({ at: this.#lastEventAt, topic, key, error });
    if (this.#deadLetters.length > KEPT_DEAD_LETTERS) this.#deadLetters.shift();
  }

  #laneLeft(event: Extract<RunEvent, { type: 'lane-left' }>): void {
    const { pipeline, lane, reason = '', failed } = event;
    this.#walks.leave({ pipeline, lane });
    this.#blockedLanes.delete(laneName(event));
    if (failed === true) this.#failedLanes.set(laneName(event), { pipeline, lane, reason });
  }
}

/** What has happened to a pipeline since the run began. */
class Totals {
  readonly counts = {
    attempts: counter(),
    credentials: {} as Record<string, Record<string, number>>,
    attemptTimes: noObservations(),
    commitTimes: noObservations(),
    faults: counter(),
    records: counter(),
    walks: { started: 0, completed: 0, failed: 0 },
    keys: { queued: 0, answered: 0 },
    pages: 0,
    items: 0,
    deadLetters: 0,
  };
  /** Number of records of lookups, by topic. */
  readonly keyRecords = counter();
  readonly groups: Record<string, GroupCounts> = {};
  failing: PipelineSnapshot['failing'];
  lastSuccessAt: number | undefined;
  /** Number of lookup batches with a response, each of which was one HTTP request. */
  #lookups = 0;
  #answers = 0;
  #answersMs = 0;

  /** Number of HTTP requests whose results are written. */
  get done(): number {
    return this.counts.pages + this.#lookups;
  }

  /** Mean time from a request to its response, ms. */
  get requestMs(): number {
    return this.#answersMs / Math.max(1, this.#answers);
  }

  attempt(event: Extract<RunEvent, { type: 'attempt' }>, at: number): void {
    const { credential, outcome, status, reason = '', retryInMs, durationMs } = event;
    add(this.counts.attempts, { [outcome]: 1 });
    add((this.counts.credentials[credential] ??= {}), { [outcome]: 1 });
    observe(this.counts.attemptTimes, durationMs);
    if (outcome === 'ok') {
      this.lastSuccessAt = at;
      this.#answers += 1;
      this.#answersMs += durationMs;
    }
    if (outcome === 'transient' || outcome === 'rate-limited') add(this.counts.faults, { [String(status ?? 'none')]: 1 });
    const { since = at - durationMs, attempts = 0 } = this.failing ?? {};
    const retryAt = retryInMs === undefined ? {} : { retryAt: at + retryInMs };
    this.failing = outcome === 'transient' ? { since, attempts: attempts + 1, reason, ...retryAt } : undefined;
  }

  pageWritten(items: number, group: string | undefined): void {
    for (const counts of [this.counts, ...this.#groupOf(group)]) {
      counts.pages += 1;
      counts.items += items;
    }
  }

  ended(state: 'completed' | 'failed', group: string | undefined): void {
    this.counts.walks[state] += 1;
    for (const counts of this.#groupOf(group)) counts[state === 'completed' ? 'done' : 'failed'] += 1;
  }

  recordsWritten(counts: Readonly<Record<string, number>>, areOfKeys: boolean): void {
    add(this.counts.records, counts);
    if (!areOfKeys) return;
    this.#lookups += 1;
    add(this.keyRecords, counts);
  }

  #groupOf(group: string | undefined): readonly GroupCounts[] {
    return group === undefined ? [] : [(this.groups[group] ??= { done: 0, failed: 0, pages: 0, items: 0 })];
  }
}

type GroupCounts = { -readonly [Name in Exclude<keyof JobGroup, 'left' | 'isExact'>]: JobGroup[Name] };

function counter(): Record<string, number> {
  return {};
}

function add(counts: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [name, number] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + number;
}

function failingOnWall(failing: NonNullable<PipelineSnapshot['failing']>, time: SteadyTime): NonNullable<PipelineSnapshot['failing']> {
  const { since, retryAt } = failing;
  return { ...failing, since: time.onWall(since), ...(retryAt !== undefined && { retryAt: time.onWall(retryAt) }) };
}

/** Replaces `retryAt`, and adds `waiting`, as the pipeline's sources report them. Without an outage, returns `failing` unchanged. */
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

/** The groups that have jobs, or whose jobs other unfinished jobs create, in the order of `makes`. */
function jobGroups(
  groups: JobGroups,
  ended: Readonly<Record<string, GroupCounts>>,
  lanes: RunGauges['lanes'],
  working: readonly WalkRow[],
): Readonly<Record<string, JobGroup>> {
  // A walk whose end is known still counts as active in its lane for a moment. So the active ones are those of the rows.
  const leftOf = (name: string): number =>
    sum(lanes.map((lane) => lane.groups?.[name] ?? 0)) + working.filter(({ group }) => group === name).length;
  const growing = growingGroups(groups, (name) => leftOf(name) > 0);
  const isCounted = lanes.every((lane) => lane.isCounted);
  return Object.fromEntries(
    Object.keys(groups.makes).flatMap((name): [string, JobGroup][] => {
      const { done = 0, failed = 0, pages = 0, items = 0 } = ended[name] ?? {};
      const left = leftOf(name);
      const isGrowing = growing.has(name);
      if (done + failed + left === 0 && !isGrowing) return [];
      return [[name, { done, failed, left, isExact: isCounted && !isGrowing, pages, items }]];
    }),
  );
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

function laneName({ pipeline, lane }: { readonly pipeline: string; readonly lane: number }): string {
  return `${pipeline}/${lane}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
