import { Counter, Gauge, Registry } from 'prom-client';
import type { RunView } from './run-view.ts';

type Samples = readonly (readonly [Readonly<Record<string, string>>, number])[];

/** A run's metrics, all of one instant. No label grows with the number of requests. */
export async function runMetrics(view: RunView): Promise<{ readonly contentType: string; readonly body: string }> {
  const { pipelines, budgets, credits, lanes, work, progress, now } = view;
  const registry = new Registry();
  const each = Object.entries(pipelines);
  const counter = (name: string, help: string, labelNames: readonly string[], samples: Samples): void => {
    const metric = new Counter({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of samples) metric.inc(labels, value);
  };
  const gauge = (name: string, help: string, labelNames: readonly string[], samples: Samples): void => {
    const metric = new Gauge({ name, help, labelNames, registers: [registry] });
    for (const [labels, value] of samples) metric.set(labels, value);
  };
  const counted = (label: string, of: (one: RunView['pipelines'][string]) => Readonly<Record<string, number>>): Samples =>
    each.flatMap(([pipeline, one]) => Object.entries(of(one)).map(([value, count]) => [{ pipeline, [label]: value }, count] as const));

  counter(
    'headgate_walks_total',
    'Requests that are walked, by what became of them, in this run.',
    ['pipeline', 'state'],
    counted('state', ({ walks }) => walks),
  );
  counter(
    'headgate_pages_total',
    'Pages written.',
    ['pipeline'],
    each.map(([pipeline, { pages }]) => [{ pipeline }, pages]),
  );
  counter(
    'headgate_items_total',
    'Items of pages written.',
    ['pipeline'],
    each.map(([pipeline, { items }]) => [{ pipeline }, items]),
  );
  counter(
    'headgate_keys_total',
    'Keys of lookups answered.',
    ['pipeline'],
    each.map(([pipeline, { keys }]) => [{ pipeline }, keys.answered]),
  );
  counter(
    'headgate_records_total',
    'Records written, by topic within the pipeline.',
    ['pipeline', 'topic'],
    counted('topic', ({ records }) => records),
  );
  counter(
    'headgate_requests_total',
    'Attempts of HTTP requests that ended, by outcome.',
    ['pipeline', 'outcome'],
    counted('outcome', ({ attempts }) => attempts),
  );
  counter(
    'headgate_faults_total',
    'Attempts that met a fault, by HTTP status, or none.',
    ['pipeline', 'status'],
    counted('status', ({ faults }) => faults),
  );
  counter(
    'headgate_dead_letters_total',
    'Dead letters written, by topic.',
    ['topic'],
    Object.entries(view.deadLetters.byTopic).map(([topic, count]) => [{ topic }, count]),
  );
  gauge('headgate_start_time_seconds', 'When this run started, Unix time.', [], [[{}, view.startedAt / 1000]]);
  gauge(
    'headgate_requests_left',
    'HTTP requests that are left, at least.',
    ['pipeline'],
    each.map(([pipeline, one]) => [{ pipeline }, one.progress.left]),
  );
  gauge(
    'headgate_walks_unknown',
    '1 where walks of unknown size are left, so that more requests may be: 0 where none are.',
    ['pipeline'],
    each.map(([pipeline, one]) => [{ pipeline }, one.progress.isExact ? 0 : 1]),
  );
  gauge(
    'headgate_done_time_seconds',
    'When the last request that is left is answered, Unix time; absent where that is not known.',
    [],
    progress.isExact && progress.doneAt !== undefined ? [[{}, progress.doneAt / 1000]] : [],
  );
  gauge(
    'headgate_lanes',
    'Lanes this process works.',
    ['pipeline'],
    each.map(([pipeline]) => [{ pipeline }, lanes.filter((one) => one.pipeline === pipeline).length]),
  );
  gauge('headgate_lanes_failed', "Lanes that can't go on before their cause is mended.", [], [[{}, view.failedLanes.length]]);
  gauge(
    'headgate_log_available',
    'Whether the log that is written to can be reached: 1, or 0.',
    [],
    [[{}, view.logUnavailable === undefined ? 1 : 0]],
  );
  const labels = ['pipeline', 'credential', 'budget'];
  const ofBudgets = (value: (budget: RunView['budgets'][number]) => number | undefined): Samples =>
    budgets.flatMap((one) => {
      const { pipeline, credential, budget } = one;
      const number = value(one);
      return number === undefined ? [] : [[{ pipeline, credential, budget }, number] as const];
    });
  gauge(
    'headgate_budget_limit',
    'Requests a window permits.',
    labels,
    ofBudgets(({ limit }) => limit),
  );
  gauge(
    'headgate_budget_used',
    'Requests in the current window, those in flight counted.',
    labels,
    ofBudgets(({ used }) => used),
  );
  gauge(
    'headgate_budget_wait_seconds',
    'Time until the next request may start.',
    labels,
    ofBudgets(({ freeAt }) => (freeAt === undefined ? undefined : Math.max(0, freeAt - now) / 1000)),
  );
  const ofCredits = (value: (credit: RunView['credits'][number]) => number): Samples =>
    [...Map.groupBy(credits, ({ pipeline }) => pipeline)].map(([pipeline, own]) => [
      { pipeline },
      own.reduce((sum, one) => sum + value(one), 0),
    ]);
  gauge(
    'headgate_credit_limit',
    'Items that may be unwritten.',
    ['pipeline'],
    ofCredits(({ max }) => max),
  );
  gauge(
    'headgate_credit_used',
    'Items asked for and not yet written.',
    ['pipeline'],
    ofCredits(({ used }) => used),
  );
  const doing = Map.groupBy(
    work.filter((row) => row.doing !== undefined),
    (row) => JSON.stringify([row.pipeline, row.doing?.state]),
  );
  gauge(
    'headgate_work',
    'Requests in work, by what they do.',
    ['pipeline', 'state'],
    [...doing].map(([key, rows]) => {
      const [pipeline = '', state = ''] = JSON.parse(key) as string[];
      return [{ pipeline, state }, rows.length];
    }),
  );
  return { contentType: registry.contentType, body: await registry.metrics() };
}
