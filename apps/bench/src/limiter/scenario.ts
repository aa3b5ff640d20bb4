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

const DRIFTS_PPM = [0, 500, -500];
const RESTART_EVERY_MS = 2 * 60 * 60_000;
/** Simulated time of peers with limits per second, ms. A drift adds up to five windows in this time, so a day would show no more. */
const PEERS_PER_SECOND_MS = 3 * 60 * 60_000;
const OWN = 'Headgate';
const FORGETFUL = 'Headgate, no journal';

/** Every simulation of a full run, the most expensive ones first. */
export function scenarios(): readonly Scenario[] {
  const driftless = WINDOW_KINDS.map((kind) => ({ kind, driftPpm: 0 }));
  const servers = WINDOW_KINDS.flatMap((kind) => DRIFTS_PPM.map((driftPpm) => ({ kind, driftPpm })));
  const all = Object.keys(LIMITERS);
  const plain = all.filter((name) => name !== FORGETFUL);
  const steady = BUDGETS.flatMap((budget) =>
    LATENCIES.flatMap((latency) =>
      // With windows of a second, a refused client just sends again, so one run serves all servers.
      plain.map((limiter): Scenario => ({
        group: 'steady',
        limiter,
        budget,
        latency,
        servers,
        heeds: budget.windowMs > 1_000,
        longestMs: budget.windowMs > 1_000 || limiter === OWN ? Infinity : PEERS_PER_SECOND_MS,
      })),
    ),
  );
  const long = BUDGETS.filter(({ windowMs }) => windowMs > 1_000);
  const restarts = long.flatMap((budget) =>
    all.map((limiter): Scenario => ({
      group: 'restarts',
      limiter,
      budget,
      latency: 'tail',
      servers,
      heeds: true,
      restartEveryMs: RESTART_EVERY_MS,
      longestMs: Infinity,
    })),
  );
  const others = long.flatMap((budget) =>
    plain.map((limiter): Scenario => ({
      group: 'others',
      limiter,
      budget,
      latency: 'tail',
      servers: driftless,
      heeds: true,
      others: true,
      longestMs: Infinity,
    })),
  );
  return [...steady, ...restarts, ...others].sort((a, b) => rate(b) - rate(a));
}

function rate({ budget }: Scenario): number {
  return budget.limit / budget.windowMs;
}
