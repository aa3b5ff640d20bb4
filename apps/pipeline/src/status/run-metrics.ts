import type { Doing, Histogram } from '@headgate/pipeline';
import type { AttemptEvent } from '@headgate/sources';
import { CONTENT_TYPE, exposition, type Metric, type Series } from './exposition.ts';
import type { RunView } from './run-view.ts';

type PipelineView = RunView['pipelines'][string];

export interface ProcessFigures {
  readonly cpuSeconds: number;
  readonly residentBytes: number;
}

/** Formats a run's metrics for Prometheus, all from the same view of the run. */
export function runMetrics(view: RunView, figures: ProcessFigures): { readonly contentType: string; readonly body: string } {
  return {
    contentType: CONTENT_TYPE,
    body: exposition([...workMetrics(view), ...standingMetrics(view), ...processMetrics(view, figures)]),
  };
}

// Series exist for each of these values from the start, with 0. Otherwise the first event wouldn't show as an increase.
const OUTCOMES = Object.keys({
  ok: true,
  'rate-limited': true,
  transient: true,
  unauthorized: true,
  gone: true,
  ambiguous: true,
  fatal: true,
} satisfies Record<AttemptEvent['outcome'], true>);
const DOINGS = Object.keys({ requesting: true, retrying: true, waiting: true, writing: true, behind: true } satisfies Record<
  Doing['state'],
  true
>);

function workMetrics(view: RunView): Metric[] {
  const { pipelines, budgets } = view;
  const count = (name: string, help: string, of: (one: PipelineView) => number): Metric => counter(name, help, ofEach(pipelines, of));
  const countBy = (label: string, name: string, help: string, of: (one: PipelineView) => Readonly<Record<string, number>>): Metric =>
    counter(name, help, byLabel(pipelines, label, of));
  const times = (name: string, help: string, of: (one: PipelineView) => Histogram): Metric => ({
    name,
    type: 'histogram',
    help,
    series: ofEach(pipelines, of),
  });
  const credentials = (pipeline: string, one: PipelineView): string[] => [
    ...new Set([
      ...budgets.flatMap((budget) => (budget.pipeline === pipeline ? (budget.credential ?? []) : [])),
      ...Object.keys(one.credentials),
    ]),
  ];
  const requests = Object.entries(pipelines).flatMap(([pipeline, one]) =>
    credentials(pipeline, one).flatMap((credential) =>
      OUTCOMES.map((outcome) => [{ pipeline, credential, outcome }, one.credentials[credential]?.[outcome] ?? 0] as const),
    ),
  );
  return [
    counter('headgate_requests_total', 'HTTP requests that ended, by credential and outcome.', requests),
    times(
      'headgate_request_duration_seconds',
      'Duration of an HTTP request, from its permit to the end of its response.',
      ({ attemptTimes }) => attemptTimes,
    ),
    countBy('status', 'headgate_faults_total', 'HTTP requests that failed, by status of the response, or none.', ({ faults }) => faults),
    times(
      'headgate_commit_duration_seconds',
      "Duration of a transaction of the log: records, checkpoint and budgets' journal.",
      ({ commitTimes }) => commitTimes,
    ),
    countBy('state', 'headgate_walks_total', 'Jobs that take pages, by result.', ({ walks }) => walks),
    count('headgate_pages_total', 'Pages written.', ({ pages }) => pages),
    count('headgate_items_total', 'Items of pages written.', ({ items }) => items),
    count('headgate_keys_total', 'Keys of lookups answered.', ({ keys }) => keys.answered),
    countBy('topic', 'headgate_records_total', 'Records written, by topic within the pipeline.', ({ records }) => records),
    count('headgate_dead_letters_total', 'Dead letters written.', ({ deadLetters }) => deadLetters),
  ];
}

function standingMetrics(view: RunView): Metric[] {
  const { pipelines, lanes, failedLanes, blockedLanes, logUnavailable, credits, work, now } = view;
  const each = (name: string, help: string, of: (one: PipelineView, pipeline: string) => number | undefined): Metric =>
    gauge(name, help, known(ofEach(pipelines, of)));
  const budget = (name: string, help: string, of: (one: RunView['budgets'][number]) => number | undefined): Metric =>
    gauge(name, help, known(budgetsOf(view, of)));
  const count = (name: string, help: string, all: readonly { readonly pipeline: string }[]): Metric =>
    each(name, help, (_, pipeline) => all.filter((one) => one.pipeline === pipeline).length);
  const credit = (name: string, help: string, field: 'max' | 'used'): Metric =>
    each(name, help, (_, pipeline) => credits.reduce((sum, one) => sum + (one.pipeline === pipeline ? one[field] : 0), 0));
  const working = (pipeline: string, state: string): number =>
    work.filter((row) => row.pipeline === pipeline && row.doing?.state === state).length;
  return [
    each('headgate_requests_left', 'Remaining HTTP requests, at least.', ({ progress }) => progress.left),
    gauge(
      'headgate_dead_letters_open',
      'Open dead letters of this run and earlier ones, by error code.',
      byLabel(view.openDeadLetters ?? {}, 'code', (counts) => counts),
    ),
    each('headgate_walks_unknown', '1 while jobs of unknown size remain, which can need more requests; otherwise 0.', ({ progress }) =>
      progress.isExact ? 0 : 1,
    ),
    each(
      'headgate_done_time_seconds',
      'Forecast finish time of all jobs, as Unix time. Absent if it is unknown or nothing is left.',
      ({ progress: { isExact, doneAt } }) => (isExact ? unixTime(doneAt) : undefined),
    ),
    each(
      'headgate_last_success_time_seconds',
      'Time of the last successful HTTP request, as Unix time. Absent before the first.',
      ({ lastSuccessAt }) => unixTime(lastSuccessAt),
    ),
    each('headgate_failing_seconds', 'Time for which every HTTP request has failed; 0 while requests succeed.', ({ failing }) =>
      failing === undefined ? 0 : Math.max(0, now - failing.since) / 1_000,
    ),
    gauge(
      'headgate_work',
      'Active jobs by state. All lookups of a lane count as one job.',
      byLabel(pipelines, 'state', (_, pipeline) => Object.fromEntries(DOINGS.map((state) => [state, working(pipeline, state)]))),
    ),
    budget('headgate_budget_limit', 'Maximum requests, or other units of the budget, per window.', ({ limit }) => limit),
    budget('headgate_budget_used', 'Requests used in the current window, including those in flight.', ({ used }) => used),
    budget(
      'headgate_budget_wait_seconds',
      'Time until the next request may start. Absent while that depends on requests in flight.',
      ({ freeAt }) => (freeAt === undefined ? undefined : Math.max(0, freeAt - now) / 1_000),
    ),
    credit('headgate_credit_limit', 'Maximum items that are requested and not yet written.', 'max'),
    credit('headgate_credit_used', 'Items that are requested and not yet written.', 'used'),
    count('headgate_lanes', 'Lanes that this process holds.', lanes),
    count('headgate_lanes_failed', "Lanes that can't continue until the cause is fixed.", failedLanes),
    count('headgate_lanes_blocked', "Lanes whose jobs wait for another client's open transaction.", blockedLanes),
    gauge('headgate_log_available', '1 if the log is available for writing; otherwise 0.', [[{}, logUnavailable === undefined ? 1 : 0]]),
  ];
}

function processMetrics({ about, startedAt }: RunView, { cpuSeconds, residentBytes }: ProcessFigures): Metric[] {
  return [
    gauge('headgate_build_info', '1, with the version of the command.', [[{ version: about.version }, 1]]),
    gauge('headgate_start_time_seconds', 'Start time of this run, as Unix time.', [[{}, startedAt / 1_000]]),
    counter('process_cpu_seconds_total', 'CPU time of the process, of user and system.', [[{}, cpuSeconds]]),
    gauge('process_resident_memory_bytes', 'Resident memory of the process.', [[{}, residentBytes]]),
  ];
}

function counter(name: string, help: string, series: readonly Series<number>[]): Metric {
  return { name, type: 'counter', help, series };
}

function gauge(name: string, help: string, series: readonly Series<number>[]): Metric {
  return { name, type: 'gauge', help, series };
}

function ofEach<Value>(pipelines: RunView['pipelines'], value: (one: PipelineView, pipeline: string) => Value): Series<Value>[] {
  return Object.entries(pipelines).map(([pipeline, one]) => [{ pipeline }, value(one, pipeline)]);
}

function byLabel<One>(
  pipelines: Readonly<Record<string, One>>,
  label: string,
  of: (one: One, pipeline: string) => Readonly<Record<string, number>>,
): Series<number>[] {
  return Object.entries(pipelines).flatMap(([pipeline, one]) =>
    Object.entries(of(one, pipeline)).map(([value, count]): Series<number> => [{ pipeline, [label]: value }, count]),
  );
}

/** One series per budget's name. Two sources of a pipeline can use the same name, and Prometheus rejects a scrape with duplicate series. */
function budgetsOf<Value>({ budgets }: RunView, value: (budget: RunView['budgets'][number]) => Value): Series<Value>[] {
  const byName = new Map(budgets.map((one) => [JSON.stringify([one.pipeline, one.credential, one.budget]), one]));
  // For Prometheus, an empty label equals a missing one.
  return [...byName.values()].map(({ credential = '', ...one }) => [
    { pipeline: one.pipeline, credential, budget: one.budget },
    value(one),
  ]);
}

function known(series: readonly Series<number | undefined>[]): Series<number>[] {
  return series.flatMap(([labels, value]): Series<number>[] => (value === undefined ? [] : [[labels, value]]));
}

function unixTime(epochMs: number | undefined): number | undefined {
  return epochMs === undefined ? undefined : epochMs / 1_000;
}
