import { describe, expect, it } from 'vitest';
import { runCell, type CellResult } from './cell.ts';
import type { GateFactory } from './gate.ts';
import { forgetfulHeadgateGate, headgateGate } from './gates/headgate-gate.ts';
import type { Latency } from './latency.ts';
import { LATENCIES } from './scenario.ts';
import { WINDOW_KINDS, type WindowKind } from './server-window.ts';
import { world } from './world.ts';

const MINUTE_MS = 60_000;
const DAY_MS = 24 * 60 * MINUTE_MS;
const QUARTER_HOUR = { limit: 15, windowMs: 15 * MINUTE_MS, durationMs: DAY_MS, walks: 5 };
const PER_SECOND = { limit: 5, windowMs: 1_000, durationMs: 10 * MINUTE_MS, walks: 20 };

interface Run {
  readonly gate?: GateFactory;
  readonly latency?: Latency;
  readonly seed?: number;
  readonly restartEveryMs?: number;
  readonly heeds?: boolean;
  readonly others?: boolean;
}

function run(
  budget: typeof QUARTER_HOUR,
  kind: WindowKind,
  driftPpm: number,
  { gate = headgateGate, latency = 'tail', seed = 1, ...rest }: Run = {},
): Promise<CellResult> {
  return runCell({ world: world(), gate, ...budget, latency, seed, servers: [{ kind, driftPpm }], ...rest });
}

/** A deliberately wrong limiter: its window starts when a request is sent, although the server can count the request later. */
const grantAnchored: GateFactory = ({ limit, windowMs, clock }) => {
  const freeAt: number[] = Array.from({ length: limit }, () => 0);
  return {
    async pass(send) {
      const now = clock.monotonicMs();
      const at = Math.max(now, freeAt.shift() ?? 0);
      freeAt.push(at + windowMs);
      if (at > now) await new Promise<void>((resolve) => clock.schedule(at - now, resolve));
      return send();
    },
  };
};

describe('15 per 15 minutes for a day', () => {
  it.each(WINDOW_KINDS.flatMap((kind) => [0, 500, -500].map((driftPpm) => ({ kind, driftPpm }))))(
    'uses what a $kind window permits and overruns none, its clock $driftPpm ppm off',
    async ({ kind, driftPpm }) => {
      for (const latency of LATENCIES) {
        const { servers } = await run(QUARTER_HOUR, kind, driftPpm, { latency });
        const [server] = servers;
        expect(server?.refused).toBe(0);
        expect(server?.counted).toBeGreaterThanOrEqual(96 * 15);
        // A server with a faster clock permits more than the client can know. This is the used share of what the client can know.
        const known = (server?.share ?? 0) * (1 + Math.max(0, driftPpm) / 1_000_000);
        expect(known).toBeGreaterThanOrEqual(0.999);
      }
    },
  );

  it.each(WINDOW_KINDS)('continues in the same %s windows after each of its restarts', async (kind) => {
    const { servers } = await run(QUARTER_HOUR, kind, 0, { restartEveryMs: 120 * MINUTE_MS });
    expect(servers[0]?.refused).toBe(0);
    expect(servers[0]?.share).toBeGreaterThanOrEqual(0.999);
  });

  it.each([
    { kind: 'first-request', share: 0.998 },
    { kind: 'wall-clock', share: 0.997 },
    { kind: 'rolling', share: 0.96 },
  ] as const)('loses little of $kind windows to restarts without a journal', async (given) => {
    for (const everyMinutes of [83, 102, 110, 120, 127, 133]) {
      const { servers } = await run(QUARTER_HOUR, given.kind, 0, {
        gate: forgetfulHeadgateGate,
        heeds: true,
        restartEveryMs: everyMinutes * MINUTE_MS,
      });
      const restarts = Math.ceil((24 * 60) / everyMinutes) - 1;
      expect(servers[0]?.share).toBeGreaterThanOrEqual(given.share);
      // The service can refuse each of the five crawls once per restart.
      expect(servers[0]?.refused).toBeLessThanOrEqual(5 * restarts + 3);
    }
  });

  it.each(WINDOW_KINDS)('believes the headers of a %s window only as far as they are true', async (kind) => {
    const { servers } = await run(QUARTER_HOUR, kind, 0, { latency: 'uniform', heeds: true });
    expect(servers[0]).toMatchObject({ refused: 0, counted: 96 * 15 });
  });

  it.each([
    { kind: 'first-request', refusals: 3, share: 0.99 },
    { kind: 'wall-clock', refusals: 3, share: 0.99 },
    { kind: 'rolling', refusals: 50, share: 0.95 },
  ] as const)('is hardly refused in $kind windows where others take a third at random, and uses what they leave', async (given) => {
    const { servers } = await run(QUARTER_HOUR, given.kind, 0, { heeds: true, others: true });
    expect(servers[0]?.others).toBeGreaterThan(400);
    expect(servers[0]?.refused).toBeLessThanOrEqual(given.refusals);
    expect(servers[0]?.share).toBeGreaterThanOrEqual(given.share);
  });
});

describe('5 per second for ten minutes', () => {
  it.each(WINDOW_KINDS.flatMap((kind) => LATENCIES.map((latency) => ({ kind, latency }))))(
    'uses what latency ($latency) leaves of a $kind window and overruns none',
    async ({ kind, latency }) => {
      const { servers, meanRoundTripMs, leastRoundTripMs } = await run(PER_SECOND, kind, -500, { latency });
      expect(servers[0]?.refused).toBe(0);
      const left = PER_SECOND.windowMs / (PER_SECOND.windowMs + meanRoundTripMs - leastRoundTripMs);
      expect((servers[0]?.share ?? 0) / left).toBeGreaterThanOrEqual(0.97);
    },
  );
});

describe('the simulation', () => {
  it('gives the same for the same seed, and something else for another', async () => {
    const results = await Promise.all([1, 1, 2].map((seed) => run(PER_SECOND, 'rolling', 0, { seed })));
    expect(results[1]).toEqual(results[0]);
    expect(results[2]).not.toEqual(results[0]);
  });

  it.each(['first-request', 'rolling'] as const)('sees a limiter that counts from the grant overrun %s windows', async (kind) => {
    const { servers } = await run(QUARTER_HOUR, kind, 0, { gate: grantAnchored });
    expect(servers[0]?.refused).toBeGreaterThan(10);
  });

  it('sees a limiter overrun that forgets at a restart what it has sent', async () => {
    const forgets: GateFactory = (options) => headgateGate({ ...options, store: {} });
    const { servers } = await run(QUARTER_HOUR, 'rolling', 0, { gate: forgets, restartEveryMs: 110 * MINUTE_MS });
    expect(servers[0]?.refused).toBeGreaterThan(0);
  });
});
