import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { agedSnapshots } from './aged-snapshots.ts';
import { dailyBudget, monthlyBudget } from './calendar-budget.ts';
import { nextDayOfMonth, nextTimeOfDay } from './next-reset.ts';
import { virtualClock } from '../testing/index.ts';

describe('dailyBudget', () => {
  it('resets at its time of day, whenever it was used', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 20) });
    const budget = dailyBudget({ limit: 100, clock });
    const slot = budget.take(70);
    slot.sent();
    slot.answered();
    expect(budget.freeAt(30)).toBe(clock.monotonicMs());
    expect(budget.freeAt(31)).toBe(4 * 3_600_000 + 5_000);
    await clock.advance(4 * 3_600_000 + 5_000);
    expect(budget.used).toBe(0);
  });

  it('counts requests in flight at the reset for the new day', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 23, 59, 59) });
    const budget = dailyBudget({ limit: 100, clock });
    const slot = budget.take(100);
    slot.sent();
    await clock.advance(2_000);
    slot.answered();
    expect(budget.freeAt(1)).toBe(1_000 + 86_400_000 + 5_000);
  });

  it('leaves what is in flight to the reset for a process that takes over, however long it has been', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 20) });
    const options = { limit: 1, leaseMs: () => 1_000, clock };
    const budget = dailyBudget(options);
    budget.take().sent();
    await clock.advance(30_000);
    const next = dailyBudget(options);
    next.restore(budget.snapshot());
    expect(next.freeAt()).toBe(4 * 3_600_000 + 5_000);
    // The response is still to come, and the service may count the request right before it responds.
    await clock.advance(4 * 3_600_000);
    const last = dailyBudget(options);
    last.restore(budget.snapshot());
    expect(last.freeAt()).toBe(28 * 3_600_000 + 5_000);
  });

  describe('with a clock that is set back', () => {
    const HOUR = 3_600_000;
    const GUARD = 5_000;
    /** The clock shows 23:30, and it is 22:30. */
    const fast = () => virtualClock({ epochMs: Date.UTC(2026, 0, 1, 23, 30) });

    it('waits for the reset by the corrected clock', async () => {
      const clock = fast();
      const budget = dailyBudget({ limit: 2, clock });
      const [first, second] = [budget.take(), budget.take()];
      for (const slot of [first, second]) slot.sent();
      first.answered();
      second.aborted();
      expect(budget.freeAt()).toBe(HOUR / 2 + GUARD);
      clock.stepEpoch(-HOUR);
      expect(budget.freeAt()).toBe(1.5 * HOUR + GUARD);
      await clock.advance(1.5 * HOUR + GUARD - 1);
      expect(budget.used).toBe(2);
      await clock.advance(1);
      expect(budget.used).toBe(0);
    });

    it('counts what is answered and corrected later by the corrected clock, too', async () => {
      const clock = fast();
      const budget = dailyBudget({ limit: 10, clock });
      const [early, late] = [budget.take(4), budget.take(6)];
      for (const slot of [early, late]) slot.sent();
      early.answered();
      clock.stepEpoch(-HOUR);
      late.answered();
      early.corrected(1);
      expect(budget.used).toBe(7);
      await clock.advance(1.5 * HOUR + GUARD - 1);
      expect(budget.used).toBe(7);
      expect(budget.freeAt(3)).toBe(clock.monotonicMs());
      await clock.advance(1);
      expect(budget.used).toBe(0);
    });

    it('waits again if the clock had passed the reset already', async () => {
      const clock = fast();
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.answered();
      await clock.advance(0.75 * HOUR);
      expect(budget.used).toBe(0);
      clock.stepEpoch(-HOUR);
      expect(budget.freeAt()).toBe(1.5 * HOUR + GUARD);
    });

    it.each([0, 0.25 * HOUR])('waits for that reset after a restart as well: %d ms old', async (ageMs) => {
      const clock = fast();
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.answered();
      const left = agedSnapshots([budget.snapshot()], ageMs);
      clock.stepEpoch(-HOUR);
      await clock.advance(ageMs);
      const next = dailyBudget({ limit: 1, clock });
      next.restore(left[0] ?? budget.snapshot());
      expect(next.freeAt()).toBe(1.5 * HOUR + GUARD);
    });

    it('waits for it also if nothing asked for a while before the correction', async () => {
      const clock = fast();
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.answered();
      await clock.advance(0.4 * HOUR);
      clock.stepEpoch(-HOUR);
      expect(budget.freeAt()).toBe(1.5 * HOUR + GUARD);
    });

    it('waits no longer for a clock that trembles', () => {
      const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 12) });
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.answered();
      for (let i = 0; i < 100; i += 1) {
        clock.stepEpoch(-600);
        budget.freeAt();
        clock.stepEpoch(600);
        expect(budget.freeAt()).toBe(12 * HOUR + GUARD);
      }
    });

    it('leaves a slot of the next day to a process that takes over before the reset', () => {
      const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 23, 59, 58) });
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.aborted();
      const next = dailyBudget({ limit: 1, clock });
      next.restore(budget.snapshot());
      expect(next.freeAt()).toBe(2_000 + 24 * HOUR + GUARD);
    });

    it('never lets more start in a day of the service than the limit, from the correction on', async () => {
      const minutes = fc.integer({ min: 1, max: 1_439 });
      await fc.assert(
        fc.asyncProperty(minutes, minutes, minutes, fc.boolean(), async (from, fastBy, correctedAfter, isRestarted) => {
          const trueStart = Date.UTC(2026, 0, 1) + from * 60_000;
          const clock = virtualClock({ epochMs: trueStart + fastBy * 60_000 });
          const options = { limit: 2, clock };
          let budget = dailyBudget(options);
          const byDay = new Map<number, number>();
          const use = (): void => {
            while (budget.freeAt() <= clock.monotonicMs()) {
              const slot = budget.take();
              slot.sent();
              slot.answered();
              const day = Math.floor((trueStart + clock.monotonicMs()) / (24 * HOUR));
              byDay.set(day, (byDay.get(day) ?? 0) + 1);
            }
          };
          use();
          await clock.advance(correctedAfter * 60_000);
          const before = budget.snapshot();
          clock.stepEpoch(-fastBy * 60_000);
          if (isRestarted) {
            budget = dailyBudget(options);
            budget.restore(before);
          }
          for (let i = 0; i < 72; i += 1) {
            use();
            await clock.advance(HOUR);
          }
          expect(Math.max(...byDay.values())).toBe(2);
        }),
        { numRuns: 200 },
      );
    });

    it('frees nothing early if it is set forward, and forgets nothing if it then is set back', () => {
      const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 12) });
      const budget = dailyBudget({ limit: 1, clock });
      const slot = budget.take();
      slot.sent();
      slot.answered();
      clock.stepEpoch(6 * HOUR);
      expect(budget.freeAt()).toBe(12 * HOUR + GUARD);
      clock.stepEpoch(-6 * HOUR);
      expect(budget.freeAt()).toBeGreaterThanOrEqual(12 * HOUR + GUARD);
    });
  });

  it('refuses what can not be', () => {
    expect(() => dailyBudget({ limit: 0 })).toThrow(RangeError);
    expect(() => dailyBudget({ limit: 1, resetsAt: '24:00' })).toThrow(/isn't a time of day/);
    expect(() => dailyBudget({ limit: 1, zone: 'Mars/Olympus' })).toThrow(RangeError);
    for (const value of [Number.NaN, -1, Infinity]) {
      expect(() => dailyBudget({ limit: 1, guardMs: value })).toThrow(/^dailyBudget: guardMs must be /);
      expect(() => monthlyBudget({ limit: 1, maxDelayMs: value })).toThrow(/^monthlyBudget: maxDelayMs must be /);
    }
  });
});

describe('monthlyBudget', () => {
  it('resets on its day of the month, even after a restart', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 20, 12) });
    const options = { limit: 100, resetsOn: 15, resetsAt: '06:00', clock };
    const budget = monthlyBudget(options);
    const slot = budget.take(70);
    slot.sent();
    slot.answered();
    const reset = Date.UTC(2026, 1, 15, 6) + 5_000 - clock.epochMs();
    expect(budget.freeAt(31)).toBe(reset);
    const next = monthlyBudget(options);
    next.restore(budget.snapshot());
    expect(next.freeAt(30)).toBe(0);
    expect(next.freeAt(31)).toBe(reset);
    await clock.advance(reset);
    expect(budget.used).toBe(0);
    expect(next.used).toBe(0);
  });

  it('believes a service that says how little of the month is left', () => {
    const budget = monthlyBudget({ limit: 100, clock: virtualClock({ epochMs: Date.UTC(2026, 0, 1) }) });
    const slot = budget.take();
    slot.sent();
    slot.answered({ remaining: 10, resetInMs: 31 * 86_400_000 });
    expect(budget.used).toBe(90);
  });

  it('refuses what can not be', () => {
    expect(() => monthlyBudget({ limit: 1.5 })).toThrow(/monthlyBudget: limit must be a whole number/);
    expect(() => monthlyBudget({ limit: 1, resetsOn: 0 })).toThrow(/monthlyBudget: resetsOn must be a whole number from 1 to 31, got 0/);
    expect(() => monthlyBudget({ limit: 1, resetsOn: 32 })).toThrow(/resetsOn must be a whole number from 1 to 31, got 32/);
    expect(() => monthlyBudget({ limit: 1, resetsAt: '7:00' })).toThrow(/isn't a time of day/);
    expect(() => monthlyBudget({ limit: 1, zone: 'Mars/Olympus' })).toThrow(RangeError);
  });
});

describe('nextDayOfMonth', () => {
  it.each([
    { after: '2026-01-20T12:00:00Z', day: 1, at: '00:00', zone: 'UTC', next: '2026-02-01T00:00:00Z' },
    { after: '2026-02-01T00:00:00Z', day: 1, at: '00:00', zone: 'UTC', next: '2026-03-01T00:00:00Z' },
    { after: '2026-12-31T23:59:59Z', day: 31, at: '00:00', zone: 'UTC', next: '2027-01-31T00:00:00Z' },
    { after: '2026-02-01T00:00:00Z', day: 31, at: '09:00', zone: 'UTC', next: '2026-02-28T09:00:00Z' },
    { after: '2028-02-01T00:00:00Z', day: 30, at: '09:00', zone: 'UTC', next: '2028-02-29T09:00:00Z' },
    // In Auckland, it is already the first of the month while it is still the last of the month in UTC.
    { after: '2026-06-30T11:59:00Z', day: 1, at: '00:00', zone: 'Pacific/Auckland', next: '2026-06-30T12:00:00Z' },
    { after: '2026-06-01T05:00:00Z', day: 1, at: '00:00', zone: 'America/Los_Angeles', next: '2026-06-01T07:00:00Z' },
    // Clocks go forward from 2:00 to 3:00 on that night, so they never show 2:30.
    { after: '2026-03-01T00:00:00Z', day: 29, at: '02:30', zone: 'Europe/Berlin', next: '2026-03-29T01:30:00Z' },
  ])('after $after it is $at on day $day in $zone at $next', ({ after, day, at, zone, next }) => {
    expect(new Date(nextDayOfMonth(day, at, zone)(Date.parse(after))).toISOString()).toBe(new Date(next).toISOString());
  });

  it.each([0, 32, 1.5])('refuses %s as a day', (day) => {
    expect(() => nextDayOfMonth(day, '00:00', 'UTC')).toThrow(/^nextDayOfMonth: day must be a whole number from 1 to 31, got /);
  });

  it('is always later, by no more than a long month, and none lies between', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Auckland');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), zones, fc.integer({ min: 1, max: 31 }), fc.nat(23), (afterMs, zone, day, hour) => {
        const at = `${String(hour).padStart(2, '0')}:00`;
        const next = nextDayOfMonth(day, at, zone)(afterMs);
        expect(next).toBeGreaterThan(afterMs);
        expect(next - afterMs).toBeLessThanOrEqual(31 * 86_400_000 + 2 * 3_600_000);
        expect(nextDayOfMonth(day, at, zone)(next - 1)).toBe(next);
        const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, day: 'numeric', month: 'numeric' });
        const date = (ms: number) => format.format(ms).split('/').map(Number);
        const [shownDay = 0, shownMonth] = date(next);
        // If the month is shorter, the result is its last day.
        expect(shownDay === day || date(next + 86_400_000)[1] !== shownMonth).toBe(true);
      }),
    );
  });
});

describe('nextTimeOfDay', () => {
  it.each([
    { after: '2026-01-01T20:00:00Z', at: '00:00', zone: 'UTC', next: '2026-01-02T00:00:00Z' },
    { after: '2026-01-02T00:00:00Z', at: '00:00', zone: 'UTC', next: '2026-01-03T00:00:00Z' },
    { after: '2026-06-01T10:00:00Z', at: '00:00', zone: 'America/New_York', next: '2026-06-02T04:00:00Z' },
    // In the night before `next`, clocks go forward (first case) or back (second case).
    { after: '2026-03-28T12:00:00Z', at: '12:00', zone: 'Europe/Berlin', next: '2026-03-29T10:00:00Z' },
    { after: '2026-10-24T11:00:00Z', at: '12:00', zone: 'Europe/Berlin', next: '2026-10-25T11:00:00Z' },
    { after: '2026-03-28T12:00:00Z', at: '02:30', zone: 'Europe/Berlin', next: '2026-03-29T01:30:00Z' },
    { after: '2026-03-29T01:30:00Z', at: '02:30', zone: 'Europe/Berlin', next: '2026-03-30T00:30:00Z' },
    { after: '2026-03-08T00:00:00Z', at: '02:30', zone: 'America/New_York', next: '2026-03-08T07:30:00Z' },
    { after: '2026-10-24T12:00:00Z', at: '01:30', zone: 'Europe/Berlin', next: '2026-10-24T23:30:00Z' },
  ])('after $after it is $at in $zone at $next', ({ after, at, zone, next }) => {
    expect(new Date(nextTimeOfDay(at, zone)(Date.parse(after))).toISOString()).toBe(new Date(next).toISOString());
  });

  it('is the first that shows the time, wherever clocks change; if they skip it, later by the time skipped', () => {
    const changes = fc.constantFrom(
      ['Europe/Berlin', '2026-03-29T01:00Z'],
      ['Europe/Berlin', '2026-10-25T01:00Z'],
      ['America/New_York', '2026-03-08T07:00Z'],
      ['America/New_York', '2026-11-01T06:00Z'],
      ['Australia/Lord_Howe', '2026-04-04T15:00Z'],
      ['Australia/Lord_Howe', '2026-10-03T15:30Z'],
    );
    const QUARTER = 900_000;
    fc.assert(
      fc.property(changes, fc.integer({ min: -120, max: 12 }), fc.nat(20), ([zone = '', change = ''], from, quarter) => {
        const format = new Intl.DateTimeFormat('en-GB', { timeZone: zone, hour: '2-digit', minute: '2-digit', hourCycle: 'h23' });
        const at = (quarters: number) => new Date(quarters * QUARTER).toISOString().slice(11, 16);
        const afterMs = Date.parse(change) + from * QUARTER;
        const next = nextTimeOfDay(at(quarter), zone)(afterMs);
        const shows = (ms: number) => format.format(ms) === at(quarter);
        const instants = Array.from({ length: 200 }, (_, i) => afterMs + (i + 1) * QUARTER);
        // Where clocks show the time twice, the result is either of the two, so the second doesn't count as the first that shows it.
        const first = instants.find((ms) => shows(ms) && !shows(ms - 2 * QUARTER) && !shows(ms - 4 * QUARTER)) ?? Infinity;
        const isFirst = shows(next) && next - first <= 4 * QUARTER;
        const isLater = first > next && [at(quarter + 2), at(quarter + 4)].includes(format.format(next));
        expect([isFirst, isLater]).toContain(true);
      }),
      { numRuns: 300 },
    );
  });

  it.each(['112:00', '12:000', '24:00', '12:60', '7:00', ''])('refuses %j as a time of day', (at) => {
    expect(() => nextTimeOfDay(at, 'UTC')).toThrow(`${JSON.stringify(at)} isn't a time of day: write 00:00 to 23:59`);
  });

  it.each([Number.NaN, 8.64e15 + 1, undefined])('refuses the instant %s', (afterMs) => {
    expect(() => nextTimeOfDay('00:00', 'UTC')(afterMs as number)).toThrow(/^a reset: afterMs must be a number from -8640000000000000 to /);
  });

  it('is always later, and by no more than 25 hours, or a day more where the calendar skips one', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), zones, fc.nat(23), fc.nat(59), (afterMs, zone, hour, minute) => {
        const at = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
        const next = nextTimeOfDay(at, zone)(afterMs);
        expect(next).toBeGreaterThan(afterMs);
        // Samoa had no December 30 in 2011.
        expect(next - afterMs).toBeLessThanOrEqual((zone === 'Pacific/Apia' ? 49 : 25) * 3_600_000);
      }),
    );
  });
});
