import { Counter, Gauge, Registry } from 'prom-client';
import type { RunGauges } from './run-event.ts';
import type { RunSnapshot } from './run-snapshot.ts';

export interface RunMetricsOptions {
  readonly snapshot: () => RunSnapshot;
  readonly gauges: () => RunGauges;
}

/** A run's metrics in a registry of their own; read from the run when they are scraped. No label grows with the number of users or books. */
export function createRunMetrics(options: RunMetricsOptions): Registry {
  const { snapshot, gauges } = options;
  const registry = new Registry();

  counter('headgate_crawls_total', 'Crawls by what became of them, in this run.', ['state'], ({ totals }) => [
    [{ state: 'started' }, totals.crawlsStarted],
    [{ state: 'completed' }, totals.crawlsCompleted],
    [{ state: 'failed' }, totals.crawlsFailed],
  ]);
  counter('headgate_pages_total', 'Pages written.', [], ({ totals }) => [[{}, totals.pages]]);
  counter('headgate_ids_total', 'Ids written.', [], ({ totals }) => [[{}, totals.ids]]);
  counter('headgate_changes_total', 'Changes of crawls compared, by kind.', ['change'], ({ changes }) => [
    [{ change: 'followed' }, changes.followed],
    [{ change: 'unfollowed' }, changes.unfollowed],
  ]);
  counter('headgate_books_total', 'ISBNs answered, by result.', ['result'], ({ books }) => [
    [{ result: 'found' }, books.found],
    [{ result: 'missing' }, books.missing],
  ]);
  counter('headgate_authors_total', 'Authors answered.', [], ({ books }) => [[{}, books.authors]]);
  counter('headgate_requests_total', 'Tries that ended, by service and outcome.', ['service', 'outcome'], ({ requests }) =>
    Object.entries(requests).flatMap(([service, outcomes]) =>
      Object.entries(outcomes).map(([outcome, count]) => [{ service, outcome }, count] as const),
    ),
  );
  counter('headgate_faults_total', 'Tries that met a fault, by kind or HTTP status.', ['kind'], ({ faults }) =>
    faults.map((one) => [{ kind: String(one.kind) }, one.count] as const),
  );
  counter('headgate_dead_letters_total', 'Dead letters written, by topic.', ['topic'], ({ deadLetters }) =>
    Object.entries(deadLetters.byTopic).map(([topic, count]) => [{ topic }, count] as const),
  );

  gauge('headgate_start_time_seconds', 'When this run started, Unix time.', [], () => [[{}, snapshot().startedAt / 1000]]);
  gauge('headgate_lanes', 'Lanes this process works.', ['service'], () => {
    const { lanes } = snapshot();
    return (['followers', 'books'] as const).map((service) => [{ service }, lanes.filter((one) => one.service === service).length]);
  });
  gauge('headgate_log_available', 'Whether the log that is written to can be reached: 1, or 0.', [], () => [
    [{}, snapshot().logUnavailable === undefined ? 1 : 0],
  ]);
  gauge('headgate_budget_limit', 'Requests a window permits.', ['service', 'credential', 'unit'], () =>
    gauges().budgets.map((one) => [budgetLabels(one), one.limit] as const),
  );
  gauge('headgate_budget_used', 'Requests in the current window, those under way counted.', ['service', 'credential', 'unit'], () =>
    gauges().budgets.map((one) => [budgetLabels(one), one.used] as const),
  );
  gauge('headgate_budget_wait_seconds', 'Time until the next request may start.', ['service', 'credential', 'unit'], () => {
    const { now } = snapshot();
    return gauges().budgets.flatMap((one) =>
      one.freeAt === undefined ? [] : [[budgetLabels(one), Math.max(0, one.freeAt - now) / 1000] as const],
    );
  });
  gauge('headgate_credit_limit', 'Items that may be unwritten.', ['service'], () =>
    gauges().credits.map((one) => [{ service: one.service }, one.max] as const),
  );
  gauge('headgate_credit_used', 'Items asked for and not yet written.', ['service'], () =>
    gauges().credits.map((one) => [{ service: one.service }, one.used] as const),
  );
  gauge('headgate_activities', 'Crawls and lookups by what they are doing.', ['service', 'state'], () => {
    const counts = new Map<string, readonly [Record<string, string>, number]>();
    for (const { service, state } of gauges().activities) {
      counts.set(`${service} ${state}`, [{ service, state }, (counts.get(`${service} ${state}`)?.[1] ?? 0) + 1]);
    }
    return [...counts.values()];
  });
  return registry;

  function counter(name: string, help: string, labelNames: readonly string[], read: (run: RunSnapshot) => readonly Sample[]): void {
    const metric: Counter = new Counter({
      name,
      help,
      labelNames,
      registers: [registry],
      collect: () => {
        metric.reset();
        for (const [labels, value] of read(snapshot())) metric.inc(labels, value);
      },
    });
  }

  function gauge(name: string, help: string, labelNames: readonly string[], read: () => readonly Sample[]): void {
    const metric: Gauge = new Gauge({
      name,
      help,
      labelNames,
      registers: [registry],
      collect: () => {
        metric.reset();
        for (const [labels, value] of read()) metric.set(labels, value);
      },
    });
  }
}

type Sample = readonly [Record<string, string>, number];

function budgetLabels(budget: RunGauges['budgets'][number]): Record<string, string> {
  return { service: budget.service, credential: budget.credential, unit: budget.unit ?? 'requests' };
}
