import { textTable } from '../text-table.ts';
import type { CellResult } from './cell.ts';
import type { JudgeVerdict } from './judge.ts';
import { BUDGETS, LATENCIES, type Scenario } from './scenario.ts';
import { WINDOW_KINDS, type WindowKind } from './server-window.ts';

export interface ScenarioResult {
  readonly scenario: Scenario;
  readonly result: CellResult;
  readonly simulatedMs: number;
}

interface Verdict extends JudgeVerdict {
  readonly refusedADay: number;
}

const DAY_MS = 24 * 60 * 60_000;

/** The tables of a run. Each cell shows the worst of its latencies and drifts: the lowest share and the most refusals a day. */
export function limiterReport(results: readonly ScenarioResult[]): string {
  const worst = (verdicts: readonly Verdict[]): string => {
    if (verdicts.length === 0) return '';
    const share = Math.min(...verdicts.map((verdict) => verdict.share));
    return `${percent(share)} · ${count(Math.max(...verdicts.map(({ refusedADay }) => refusedADay)))}`;
  };
  const of = (group: Scenario['group'], limiter: string, kind: WindowKind, budget?: string): readonly Verdict[] =>
    results
      .filter(({ scenario }) => scenario.group === group && scenario.limiter === limiter)
      .filter(({ scenario }) => budget === undefined || scenario.budget.name === budget)
      .flatMap(verdictsOf)
      .filter((verdict) => verdict.kind === kind);
  const limiters = (group: Scenario['group']): readonly string[] => [
    ...new Set(results.flatMap(({ scenario }) => (scenario.group === group ? [scenario.limiter] : []))),
  ];

  const steady = textTable(
    ['limiter', 'window', ...BUDGETS.map(({ name }) => name)],
    limiters('steady').flatMap((limiter) =>
      WINDOW_KINDS.map((kind) => [limiter, kind, ...BUDGETS.map(({ name }) => worst(of('steady', limiter, kind, name)))]),
    ),
  );
  const byKind = (group: Scenario['group']): string =>
    textTable(
      ['limiter', 'budget', ...WINDOW_KINDS],
      limiters(group).map((limiter) => [limiter, '15 per 15 min', ...WINDOW_KINDS.map((kind) => worst(of(group, limiter, kind)))]),
    );
  const sections = [
    'Share of the permitted budget used · 429 responses per day (the worst of both latencies and of drifts of 0, +500 and -500 ppm)',
    steady,
    'Headgate compared with what latency leaves: limit / (window + mean round trip - minimum round trip)',
    textTable(
      ['budget', 'latency', 'mean ms', 'least ms', 'of the budget', 'without drift', 'of what latency leaves', '429 a day'],
      latencyRows(results),
    ),
    'The same, with the process killed and restarted every 2 hours; Headgate uses its journal (heavy tail)',
    byKind('restarts'),
    'The same, while other clients use a third of the limit at random moments (heavy tail; their requests count as used)',
    byKind('others'),
  ];
  return sections.join('\n\n');
}

function verdictsOf({ result, simulatedMs }: ScenarioResult): readonly Verdict[] {
  return result.servers.map((server) => ({ ...server, refusedADay: (server.refused * DAY_MS) / simulatedMs }));
}

function latencyRows(results: readonly ScenarioResult[]): readonly (readonly string[])[] {
  const headgate = results.filter(({ scenario }) => scenario.group === 'steady' && scenario.limiter === 'Headgate');
  return BUDGETS.flatMap(({ name, windowMs }) =>
    LATENCIES.flatMap((latency) => {
      const found = headgate.find(({ scenario }) => scenario.budget.name === name && scenario.latency === latency);
      if (found === undefined) return [];
      const { meanRoundTripMs, leastRoundTripMs } = found.result;
      const servers = verdictsOf(found);
      const share = Math.min(...servers.map((server) => server.share));
      const driftless = Math.min(...servers.filter(({ driftPpm }) => driftPpm === 0).map((server) => server.share));
      const left = (share * (windowMs + meanRoundTripMs - leastRoundTripMs)) / windowMs;
      const refused = Math.max(...servers.map(({ refusedADay }) => refusedADay));
      return [
        [
          name,
          latency,
          meanRoundTripMs.toFixed(1),
          leastRoundTripMs.toFixed(1),
          percent(share),
          percent(driftless),
          percent(left),
          count(refused),
        ],
      ];
    }),
  );
}

function percent(share: number): string {
  // Rounded down, so that a share never looks higher than it is.
  return `${(Math.floor(share * 10_000) / 100).toFixed(2)} %`;
}

function count(value: number): string {
  return Math.ceil(value).toLocaleString('en-US');
}
