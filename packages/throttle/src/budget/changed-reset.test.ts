import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { virtualClock } from '../testing/virtual-clock.ts';
import { agedSnapshots } from './aged-snapshots.ts';
import { dailyBudget, monthlyBudget } from './calendar-budget.ts';
import type { Clock } from '../clock.ts';
import { nextDayOfMonth, nextTimeOfDay } from './next-reset.ts';
import { type RateBudget, rateBudget } from './rate-budget.ts';

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const LIMIT = 3;
/** A rule of a service: how its budget is made, and when its window ends in which it counts a request. */
interface Rule {
  readonly name: string;
  readonly make: (clock: Clock) => RateBudget;
  readonly endOf: (countedAtMs: number) => number;
  /** Maximum wait after the end of a window. */
  readonly guardMs: number;
}

const MAX_DELAY_MS = 1_000;
const options = (clock: Clock) => ({ limit: LIMIT, maxDelayMs: MAX_DELAY_MS, clock });

function window(windowMs: number): Rule {
  return {
    name: `window of ${windowMs} ms`,
    make: (clock) => rateBudget({ windowMs, ...options(clock) }),
    endOf: (at) => at + windowMs,
    guardMs: windowMs * 500e-6 + 5,
  };
}

function daily(resetsAt: string, zone: string): Rule {
  return {
    name: `day, ${resetsAt} ${zone}`,
    make: (clock) => dailyBudget({ resetsAt, zone, ...options(clock) }),
    endOf: nextTimeOfDay(resetsAt, zone),
    guardMs: 5_000,
  };
}

function monthly(resetsOn: number, zone = 'UTC'): Rule {
  return {
    name: `month, day ${resetsOn} ${zone}`,
    make: (clock) => monthlyBudget({ resetsOn, zone, ...options(clock) }),
    endOf: nextDayOfMonth(resetsOn, '00:00', zone),
    guardMs: 5_000,
  };
}

const LA = 'America/Los_Angeles';
const RULES = [
  window(HOUR_MS),
  window(DAY_MS),
  window(30 * DAY_MS),
  daily('00:00', 'UTC'),
  daily('00:00', LA),
  daily('15:30', 'Asia/Kolkata'),
  monthly(1),
  monthly(15),
  monthly(31, LA),
];

/** A process with one rule, and then a process with another one that continues its budget. */
function changed(start: string, from: Rule, to: Rule) {
  const clock = virtualClock({ epochMs: Date.parse(start) });
  let [budget, rule] = [from.make(clock), from];
  const sent: number[] = [];
  return {
    clock,
    sent,
    get budget() {
      return budget;
    },
    send(count = 1) {
      for (let i = 0; i < count && budget.freeAt() <= clock.monotonicMs(); i += 1) {
        const slot = budget.take();
        slot.sent();
        sent.push(clock.epochMs());
        slot.answered();
      }
    },
    /** Continues with a snapshot of now, after `downMs`. */
    async restart(downMs = 0) {
      const snapshot = budget.snapshot();
      await clock.advance(downMs);
      [budget, rule] = [to.make(clock), to];
      for (const aged of agedSnapshots([snapshot], downMs)) budget.restore(aged);
    },
    /** Number of requests that the service counts in the current window of the rule. */
    counted: () => sent.filter((at) => rule.endOf(at) > clock.epochMs()).length,
    /** When the budget has capacity for `weight`, as text. */
    freeAt: (weight = 1) => new Date(clock.epochMs() + Math.max(0, budget.freeAt(weight) - clock.monotonicMs())).toISOString(),
  };
}

describe('a budget whose reset has changed', () => {
  it.each([
    ['another zone', '2026-01-10T20:00:00Z', daily('00:00', 'UTC'), daily('00:00', LA), '2026-01-11T08:00:05.000Z'],
    ['a window in place of a day', '2026-01-10T20:00:00Z', daily('00:00', 'UTC'), window(DAY_MS), '2026-01-11T20:00:4'],
    ['another day of the month', '2026-01-30T12:00:00Z', monthly(1), monthly(15), '2026-02-15T00:00:05.000Z'],
    ['a day in place of a window', '2026-01-30T12:00:00Z', window(DAY_MS), daily('00:00', 'UTC'), '2026-01-31T00:00:05.000Z'],
    ['a month in place of a day', '2026-01-31T12:00:00Z', daily('00:00', 'UTC'), monthly(1), '2026-02-01T00:00:05.000Z'],
  ])('is free again when the new one says: %s', async (_, start, from, to, freeAt) => {
    const scene = changed(start, from, to);
    scene.send(LIMIT);
    await scene.restart();
    expect(scene.freeAt()).toContain(freeAt);
  });

  it('waits for the end of the month for requests of a day before, of which only the number is forgotten', async () => {
    const scene = changed('2026-01-30T12:00:00Z', daily('00:00', 'UTC'), monthly(1));
    scene.send();
    await scene.clock.advance(DAY_MS);
    scene.send();
    await scene.restart();
    expect(scene.freeAt()).toBe('2026-02-01T00:00:05.000Z');
  });

  it('is free in a month that began after the snapshot', async () => {
    const scene = changed('2026-01-10T12:00:00Z', monthly(20), monthly(15));
    scene.send(LIMIT);
    await scene.restart(6 * DAY_MS);
    expect(scene.freeAt(LIMIT)).toBe('2026-01-16T12:00:00.000Z');
  });

  it('is not held for another month if a day of the old rule ended with the last month', async () => {
    const scene = changed('2026-01-31T12:00:00Z', daily('00:00', 'UTC'), monthly(1));
    scene.send();
    await scene.clock.advance(DAY_MS);
    scene.send();
    await scene.restart();
    expect(scene.freeAt(LIMIT - 1)).toBe('2026-02-01T12:00:00.000Z');
  });

  it('says the same with a limit whose slots end in groups', async () => {
    const clock = virtualClock({ epochMs: Date.parse('2026-01-31T12:00:00Z') });
    const limit = 9_000_000;
    const before = dailyBudget({ limit, clock });
    before.take().answered();
    await clock.advance(DAY_MS);
    const budget = monthlyBudget({ limit, clock });
    budget.restore(before.snapshot());
    expect(budget.freeAt(limit)).toBe(clock.monotonicMs());
    budget.take(limit).answered();
    expect(budget.freeAt() - clock.monotonicMs() - 27.5 * DAY_MS).toBeLessThanOrEqual(10_000);
  });

  it('is never overrun, and all of it is free when the new window of the last request has ended', async () => {
    const waitMs = fc.option(fc.integer({ min: 0, max: 2 * DAY_MS }));
    const steps = fc.array(fc.record({ waitMs, count: fc.integer({ min: 1, max: LIMIT }) }), { maxLength: 8 });
    const rule = fc.constantFrom(...RULES);
    const start = fc.integer({ min: Date.UTC(2026, 0, 20), max: Date.UTC(2026, 3, 5) }).map((ms) => new Date(ms).toISOString());
    const down = fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 40 * DAY_MS }));
    await fc.assert(
      fc.asyncProperty(start, rule, rule, steps, down, steps, async (begin, from, to, before, downMs, after) => {
        const scene = changed(begin, from, to);
        /** Waits, or without a time as long as the budget says, and then sends. */
        const step = async ({ waitMs: ms, count }: (typeof before)[number]): Promise<void> => {
          await scene.clock.advance(ms ?? Math.max(0, scene.budget.freeAt() - scene.clock.monotonicMs()));
          scene.send(count);
        };
        for (const one of before) await step(one);
        const lastAt = scene.clock.epochMs();
        await scene.restart(downMs);
        const latest = to.endOf(lastAt + MAX_DELAY_MS) + to.guardMs;
        expect(Date.parse(scene.freeAt(LIMIT))).toBeLessThanOrEqual(Math.max(scene.clock.epochMs(), latest));
        for (const one of after) {
          const { length } = scene.sent;
          await step(one);
          // The old rule may have permitted more than the new one, but then nothing more is sent.
          expect(scene.sent.length > length ? scene.counted() : 0).toBeLessThanOrEqual(LIMIT);
        }
      }),
    );
  });
});
