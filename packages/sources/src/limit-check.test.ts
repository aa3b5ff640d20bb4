import { type BudgetEvidence, rateBudget, systemClock } from '@headgate/throttle';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { budgetOf } from './budgets.ts';
import { LimitCheck } from './limit-check.ts';
import type { LimitMismatch } from './source-options.ts';
import { MINUTE_MS, play } from './scene.fixture.ts';

const HOUR_MS = 60 * MINUTE_MS;

type Kind = 'first-request' | 'wall-clock' | 'rolling';
const KINDS: readonly Kind[] = ['first-request', 'wall-clock', 'rolling'];

interface Told {
  readonly kind: Kind;
  readonly windowMs: number;
  /** Times of our requests, in ms. */
  readonly ours: readonly number[];
  /** Times of other clients' requests, in ms. */
  readonly others: readonly number[];
}

/**
 * Returns the mismatches found in the responses to our requests, from a service with 15 requests per `windowMs`. The configured limit is 15
 * per minute.
 */
function found({ kind, windowMs, ours, others }: Told): readonly LimitMismatch[] {
  const check = new LimitCheck();
  const budgets = [rateBudget({ limit: 15, windowMs: MINUTE_MS })];
  let counted: number[] = [];
  let began = -Infinity;
  const mismatches: LimitMismatch[] = [];
  const all = [...ours.map((at) => ({ at, isOurs: true })), ...others.map((at) => ({ at, isOurs: false }))].sort((a, b) => a.at - b.at);
  for (const { at, isOurs } of all) {
    if (kind === 'rolling') counted = counted.filter((one) => at - one < windowMs);
    else if (at - began >= windowMs) {
      counted = [];
      began = kind === 'wall-clock' ? Math.floor(at / windowMs) * windowMs : at;
    }
    const refused = counted.length >= 15;
    if (!refused) counted.push(at);
    if (!isOurs) continue;
    const resetAt = (kind === 'rolling' ? (counted[0] ?? at) : began) + windowMs;
    const resetInMs = (Math.ceil(resetAt / 1_000) - Math.floor(at / 1_000)) * 1_000;
    const evidence = [{ remaining: 15 - counted.length, resetInMs, limit: 15, refused }];
    check.check({ evidence, names: ['rate'], budgets, named: { rate: { requests: 15, windowMs: MINUTE_MS } }, now: at, isNamed: true });
    const mismatch = check.take();
    if (mismatch !== undefined) mismatches.push(mismatch);
  }
  return mismatches;
}

describe.each(KINDS)('a service with %s windows', (kind) => {
  const times = fc.array(fc.integer({ min: 0, max: 10 * MINUTE_MS }), { maxLength: 60, size: 'max' });

  test('shows nothing if its windows are as configured, whatever others use', () => {
    fc.assert(
      fc.property(times, times, (ours, others) => {
        expect(found({ kind, windowMs: MINUTE_MS, ours, others })).toEqual([]);
      }),
    );
  });

  test('shows windows that are longer, and shorter ones once two begin in the time of one: each once', () => {
    const ours = Array.from({ length: 40 }, (_, i) => 1_000 + i * 7_000);
    const configured = { requests: 15, windowMs: MINUTE_MS };
    const longer = found({ kind, windowMs: 10 * MINUTE_MS, ours, others: [] });
    expect(longer).toMatchObject([{ budget: 'rate', configured }]);
    expect(longer[0]?.stated.atLeastMs).toBeGreaterThan(9 * MINUTE_MS);
    const shorter = found({ kind, windowMs: 6_500, ours, others: [] });
    expect(shorter).toMatchObject([{ budget: 'rate', configured }]);
    expect(shorter[0]?.stated.atMostMs).toBeLessThan(15_000);
  });
});

test('another number of requests is reported with one attempt, whichever credentials see it later', async () => {
  const headers = { 'x-rate-limit-limit': '300', 'x-rate-limit-remaining': '299', 'x-rate-limit-reset': '40' };
  const { query, events } = await play([], { otherwise: (_, response) => response.writeHead(200, headers).end('"good"') });
  for (let i = 0; i < 3; i += 1) await query();
  expect(events.map(({ limitMismatch }) => limitMismatch)).toEqual([
    { budget: 'rate', configured: { requests: 100, windowMs: MINUTE_MS }, stated: { requests: 300 } },
    undefined,
    undefined,
  ]);
});

test.each(['day', 'month'] as const)('a quota of a %s that is shorter or longer than others shows nothing', (per) => {
  const check = new LimitCheck();
  const named = { quota: { requests: 15, per } };
  const budgets = [budgetOf(named.quota, { clock: systemClock() })];
  const [shorter, longer] = per === 'day' ? [23 * HOUR_MS, 25 * HOUR_MS] : [28 * 24 * HOUR_MS, 31 * 24 * HOUR_MS + HOUR_MS];
  let now = 0;
  for (const resetInMs of [shorter, longer, shorter]) {
    check.check({ evidence: [{ remaining: 14, resetInMs }], names: ['quota'], budgets, named, now, isNamed: true });
    expect(check.take()).toBeUndefined();
    now += resetInMs;
  }
  check.check({ evidence: [{ remaining: 9, resetInMs: shorter, limit: 10 }], names: ['quota'], budgets, named, now, isNamed: true });
  expect(check.take()?.stated).toEqual({ requests: 10 });
});

describe('headers that say of no budget in particular', () => {
  const named = { minute: { requests: 60, windowMs: MINUTE_MS }, day: { requests: 2_000, per: 'day' } } as const;
  const names = Object.keys(named);
  const stated = (evidence: BudgetEvidence, isNamed: boolean): LimitMismatch['stated'] | undefined => {
    const check = new LimitCheck();
    const budgets = Object.values(named).map((one) => budgetOf(one, { clock: systemClock() }));
    check.check({ evidence: [evidence], names, budgets, named, now: 0, isNamed });
    return check.take()?.stated;
  };

  test('show nothing if they fit another budget of the credential', () => {
    const ofTheDay = { remaining: 0, resetInMs: 11 * HOUR_MS, limit: 2_000, refused: true };
    expect(stated(ofTheDay, false)).toBeUndefined();
    expect(stated(ofTheDay, true)).toEqual({ requests: 2_000, atLeastMs: 11 * HOUR_MS });
  });

  test('show a limit that fits none', () => {
    expect(stated({ remaining: 9, resetInMs: 30 * HOUR_MS, limit: 300 }, false)).toEqual({ requests: 300, atLeastMs: 30 * HOUR_MS });
  });
});
