import type { Latency } from './latency.ts';
import { LIMITERS } from './limiters.ts';
import { WINDOW_KINDS, type WindowKind } from './server-window.ts';

export const LATENCIES: readonly Latency[] = ['uniform', 'tail'];

export interface Budget {
  readonly name: string;
  readonly limit: number;
  readonly windowMs: number;
  readonly walks: number;
}

/** With limits per second, there are more crawls than permits, so that some wait. With 15 per 15 min, five crawls compete. */
export const BUDGETS: readonly Budget[] = [
  { name: '15 per 15 min', limit: 15, windowMs: 15 * 60_000, walks: 5 },
  ...[1, 3, 5].map((limit) => ({ name: `${limit} per s`, limit, windowMs: 1_000, walks: 3 * limit + 5 })),
];

/** One process's simulations, passed to it as JSON. */
export interface Scenario {
  readonly group: 'steady' | 'restarts' | 'others';
  readonly limiter: string;
  readonly budget: Budget;
  readonly latency: Latency;
  readonly servers: readonly { readonly kind: WindowKind; readonly driftPpm: number }[];
  readonly restartEveryMs?: number;
  readonly heeds?: boolean;
  readonly others?: boolean;
  /** Maximum simulated time, ms. Infinity: as long as the command says. */
  readonly longestMs: number;
}

const RESTART_EVERY_MS = 2 * 60 * 60_000;
/** Simulated time of peers with limits per second, ms. A drift adds up to five windows in this time, so a day would show no more. */
const PEERS_PER_SECOND_MS = 3 * 60 * 60_000;
const OWN = 'Headgate';
const FORGETFUL = 'Headgate, no journal';

/** Every simulation of a full run, the most expensive ones first. */
export function scenarios(): readonly Scenario[] {
  const servers = WINDOW_KINDS.flatMap((kind) => [0, 500, -500].map((driftPpm) => ({ kind, driftPpm })));
  const driftless = servers.filter(({ driftPpm }) => driftPpm === 0);
  const all = Object.keys(LIMITERS);
  const plain = all.filter((name) => name !== FORGETFUL);
  const isLong = ({ windowMs }: Budget): boolean => windowMs > 1_000;
  const steady = BUDGETS.flatMap((budget) =>
    LATENCIES.flatMap((latency) =>
      plain.map((limiter): Scenario => {
        const longestMs = isLong(budget) || limiter === OWN ? Infinity : PEERS_PER_SECOND_MS;
        // With windows of a second, a refused client just sends again, so one run serves all servers.
        return { group: 'steady', limiter, budget, latency, servers, heeds: isLong(budget), longestMs };
      }),
    ),
  );
  const more = BUDGETS.filter(isLong).flatMap((budget) => {
    const shared = { budget, latency: 'tail', heeds: true, longestMs: Infinity } as const;
    return [
      ...all.map((limiter): Scenario => ({ ...shared, group: 'restarts', limiter, servers, restartEveryMs: RESTART_EVERY_MS })),
      ...plain.map((limiter): Scenario => ({ ...shared, group: 'others', limiter, servers: driftless, others: true })),
    ];
  });
  return [...steady, ...more].sort((a, b) => rate(b) - rate(a));
}

function rate({ budget }: Scenario): number {
  return budget.limit / budget.windowMs;
}
