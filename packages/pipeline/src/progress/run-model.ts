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

export interface RunModelOptions {
  readonly clock: Clock;
  readonly pipelines: readonly Pick<Pipeline, 'name' | 'unit' | 'pageItems' | 'groups'>[];
}

export interface RunModel {
  apply(event: RunEvent): void;
  /** Adds the duration of a durable transaction of a pipeline's lane. */
  committed(pipeline: string, ms: number): void;
  readonly time: SteadyTime;
  /** Returns when the attempts of a pipeline started to fail, on the clock of `time`. Undefined while they don't. */
  readonly failingSince: (pipeline: string) => number | undefined;
  /**
   * Returns the state of the run. Calls `left`, which returns the remaining work, if an event has come since the last forecast, or if that
   * forecast is at least a second old. Without `left`, the snapshot has the last forecast, and no finish time.
   */
  snapshot(gauges: RunGauges, left?: () => readonly LaneWork[]): RunSnapshot;
  /** Renews the forecast for the run's last snapshot, which gets no `left`. Call it when the run is told to stop, and when it has ended. */
  forecast(left: readonly LaneWork[]): void;
}

const KEPT_DEAD_LETTERS = 20;
/** Collects the parts of a run's events that a snapshot shows, in bounded memory. */
export function runModel({ clock, pipelines }: RunModelOptions): RunModel {
  const time = steadyTime(clock);
  const startedAt = time.now();
  const totals = new Map(pipelines.map((one) => [one.name, new Totals()]));
  const walks = new WalkRows();
  const failedLanes = new Map<string, RunSnapshot['failedLanes'][number]>();
  const blockedLanes = new Map<string, RunSnapshot['blockedLanes'][number]>();
  const byTopic: Record<string, number> = {};
  const deadLetters: { at: number; topic: string; key: string; error: Reason }[] = [];
  let lanesAssigned: number | undefined;
  let lanesElsewhere = 0;
  let lastEventAt = startedAt;

  const of = (pipeline: string): Totals => {
    const known = totals.get(pipeline) ?? new Totals();
    totals.set(pipeline, known);
    return known;
  };
  const groupOf = (pipeline: string, group: string | undefined): readonly GroupCounts[] =>
    group === undefined ? [] : [(of(pipeline).groups[group] ??= { done: 0, failed: 0, pages: 0, items: 0 })];
  const count = (counts: Record<string, number>, more: Readonly<Record<string, number>>): void => {
    for (const [name, number] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + number;
  };
  const changes: { readonly [Type in RunEvent['type']]?: (event: Extract<RunEvent, { type: Type }>, at: number) => void } = {
    'request-started'(event) {
      if (walks.started(event)) of(event.pipeline).counts.walks.started += 1;
    },
    'page-written'({ pipeline, request, page, items, group }) {
      for (const counts of [of(pipeline).counts, ...groupOf(pipeline, group)]) {
        counts.pages += 1;
        counts.items += items;
      }
      walks.pageWritten(request, page, items);
    },
    'request-completed'({ pipeline, request, pages, group }) {
      of(pipeline).counts.walks.completed += 1;
      for (const counts of groupOf(pipeline, group)) counts.done += 1;
      walks.end(request, { state: 'completed', pages });
    },
    'request-failed'({ pipeline, request, error, group }) {
      of(pipeline).counts.walks.failed += 1;
      for (const counts of groupOf(pipeline, group)) counts.failed += 1;
      walks.end(request, { state: 'failed', error });
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
      deadLetters.push({ at, topic, key, error });
      if (deadLetters.length > KEPT_DEAD_LETTERS) deadLetters.shift();
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
      walks.leave({ pipeline, lane });
      blockedLanes.delete(name);
      if (failed === true) failedLanes.set(name, { pipeline, lane, reason });
    },
    'requests-blocked': ({ pipeline, lane, offset, since }) =>
      void blockedLanes.set(laneName(pipeline, lane), { pipeline, lane, offset, since }),
    'requests-readable': ({ pipeline, lane }) => void blockedLanes.delete(laneName(pipeline, lane)),
  };

  const done = (pipeline: string): number => of(pipeline).counts.pages + of(pipeline).lookups;
  const requestMs = (pipeline: string): number => of(pipeline).answersMs / Math.max(1, of(pipeline).answers);
  const progress = new RunProgress(clock, done, requestMs);

  return {
    apply(event) {
      lastEventAt = time.now();
      progress.noteChange();
      (changes[event.type] as ((event: RunEvent, at: number) => void) | undefined)?.(event, lastEventAt);
    },
    committed: (pipeline, ms) => observe(of(pipeline).counts.commitTimes, ms),
    time,
    failingSince: (pipeline) => of(pipeline).failing?.since,
    forecast: (left) => progress.forecast(left),
    snapshot(gauges, left) {
      const now = clock.epochMs();
      if (left !== undefined && progress.isDue) progress.forecast(left());
      const failed = new Set(Array.from(failedLanes.values(), ({ pipeline }) => pipeline));
      const rows = [...walks.rows(gauges.work)];
      const shown = [...totals].map(([name, { failing, lastSuccessAt, counts, groups: ended }]): [string, PipelineSnapshot] => {
        const known = pipelines.find((one) => one.name === name);
        const groups =
          known?.groups &&
          jobGroups(
            known.groups,
            ended,
            gauges.lanes.filter(({ pipeline }) => pipeline === name),
            rows.filter(({ pipeline, state }) => pipeline === name && state === 'working'),
          );
        const isGrowing = Object.values(groups ?? {}).some(({ isExact }) => !isExact);
        return [
          name,
          {
            ...structuredClone(counts),
            unit: known?.unit ?? 'records',
            ...(known?.pageItems !== undefined && { pageItems: known.pageItems }),
            ...(failing !== undefined && { failing: withOutages(failingOnWall(failing, time), gauges.outages, name) }),
            ...(lastSuccessAt !== undefined && { lastSuccessAt: time.onWall(lastSuccessAt) }),
            ...(groups !== undefined && { groups }),
            progress: progress.of(name, !failed.has(name) && !isGrowing, left !== undefined),
          },
        ];
      });
      return {
        startedAt: time.onWall(startedAt),
        now,
        lastEventAt: time.onWall(lastEventAt),
        pipelines: Object.fromEntries(shown),
        work: [...rows, ...[...totals].flatMap(([name, own]) => keysRow(name, own, gauges))],
        budgets: gauges.budgets,
        credits: gauges.credits,
        lanes: gauges.lanes,
        failedLanes: [...failedLanes.values()],
        blockedLanes: [...blockedLanes.values()],
        ...(lanesAssigned !== undefined && { lanesAssigned }),
        lanesElsewhere,
        deadLetters: {
          total: sum(Object.values(byTopic)),
          byTopic: { ...byTopic },
          last: deadLetters.map((deadLetter) => ({ ...deadLetter, at: time.onWall(deadLetter.at) })),
        },
        progress: totalProgress(shown.map(([, pipeline]) => pipeline.progress)),
      };
    },
  };
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
  /** Number of successful attempts. `answersMs`: their total duration. */
  answers = 0;
  answersMs = 0;
  /** Number of lookup batches with a response, each of which was one HTTP request. */
  lookups = 0;
  failing: PipelineSnapshot['failing'];
  lastSuccessAt: number | undefined;
}

type GroupCounts = { -readonly [Name in Exclude<keyof JobGroup, 'left' | 'isExact'>]: JobGroup[Name] };

function counter(): Record<string, number> {
  return {};
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

function laneName(pipeline: string, lane: number): string {
  return `${pipeline}/${lane}`;
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
