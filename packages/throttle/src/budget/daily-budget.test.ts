import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { dailyBudget } from './daily-budget.ts';
import { nextTimeOfDay } from './next-time-of-day.ts';
import { virtualClock } from '../testing/index.ts';

describe('dailyBudget', () => {
  it('is whole again at its time of day, whenever it was used', async () => {
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

  it('counts what was under way at the reset for the new day', async () => {
    const clock = virtualClock({ epochMs: Date.UTC(2026, 0, 1, 23, 59, 59) });
    const budget = dailyBudget({ limit: 100, clock });
    const slot = budget.take(100);
    slot.sent();
    await clock.advance(2_000);
    slot.answered();
    expect(budget.freeAt(1)).toBe(1_000 + 86_400_000 + 5_000);
  });

  it('refuses what can not be', () => {
    expect(() => dailyBudget({ limit: 0 })).toThrow(RangeError);
    expect(() => dailyBudget({ limit: 1, resetsAt: '24:00' })).toThrow(/no time of day/);
    expect(() => dailyBudget({ limit: 1, zone: 'Mars/Olympus' })).toThrow(RangeError);
  });
});

describe('nextTimeOfDay', () => {
  it.each([
    { after: '2026-01-01T20:00:00Z', at: '00:00', zone: 'UTC', next: '2026-01-02T00:00:00Z' },
    { after: '2026-01-02T00:00:00Z', at: '00:00', zone: 'UTC', next: '2026-01-03T00:00:00Z' },
    { after: '2026-06-01T10:00:00Z', at: '00:00', zone: 'America/New_York', next: '2026-06-02T04:00:00Z' },
    // Clocks go forward, then back, in the night before.
    { after: '2026-03-28T12:00:00Z', at: '12:00', zone: 'Europe/Berlin', next: '2026-03-29T10:00:00Z' },
    { after: '2026-10-24T11:00:00Z', at: '12:00', zone: 'Europe/Berlin', next: '2026-10-25T11:00:00Z' },
  ])('after $after it is $at in $zone at $next', ({ after, at, zone, next }) => {
    expect(new Date(nextTimeOfDay({ at, zone, afterMs: Date.parse(after) })).toISOString()).toBe(new Date(next).toISOString());
  });

  it('is always later, and by no more than 25 hours', () => {
    const zones = fc.constantFrom('UTC', 'Europe/Berlin', 'America/New_York', 'Asia/Kolkata', 'Australia/Lord_Howe', 'Pacific/Apia');
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 4e12 }), zones, fc.nat(23), fc.nat(59), (afterMs, zone, hour, minute) => {
        const at = `${String(hour).padStart(2, '0')}:${String(minute).padStart(2, '0')}`;
        const next = nextTimeOfDay({ at, zone, afterMs });
        expect(next).toBeGreaterThan(afterMs);
        expect(next - afterMs).toBeLessThanOrEqual(49 * 3_600_000);
      }),
    );
  });
});
