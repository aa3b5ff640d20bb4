import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SlidingWindowLog } from './sliding-window-log.ts';

const entries = fc.array(fc.record({ until: fc.integer({ min: 0, max: 1_000 }), weight: fc.integer({ min: 1, max: 5 }) }), {
  maxLength: 60,
});

describe('SlidingWindowLog', () => {
  it('answers like a plain list, whatever the order of the ends', () => {
    fc.assert(
      fc.property(
        entries,
        fc.array(fc.integer({ min: 0, max: 1_100 }), { minLength: 1, maxLength: 10 }),
        fc.integer({ min: 0, max: 40 }),
        (adds, asks, room) => {
          const log = new SlidingWindowLog({ limit: 15, windowMs: 1_000 });
          for (const { until, weight } of adds) log.add(until, weight);
          for (const now of asks.sort((a, b) => a - b)) {
            const alive = adds.filter(({ until }) => until > now);
            expect(log.busy(now)).toBe(alive.reduce((sum, { weight }) => sum + weight, 0));
            const instants = [now, ...alive.map(({ until }) => until)].sort((a, b) => a - b);
            const free = instants.find(
              (at) => alive.filter(({ until }) => until > at).reduce((sum, { weight }) => sum + weight, 0) <= room,
            );
            expect(log.freeAt(room, now)).toBe(free);
          }
        },
      ),
    );
  });

  it('counts big limits in buckets: never freer than the exact log, little memory', () => {
    const windowMs = 900_000;
    const exact = new SlidingWindowLog({ limit: 1_000, windowMs });
    const bucketed = new SlidingWindowLog({ limit: 1_000_000, windowMs });
    for (let i = 0; i < 50_000; i += 1) {
      exact.add(windowMs + i * 10, 1);
      bucketed.add(windowMs + i * 10, 1);
    }
    for (let now = 0; now < 2 * windowMs; now += 7_777) {
      const atMost = exact.busy(now - windowMs / 1_000);
      const busy = bucketed.busy(now);
      expect(busy).toBeLessThanOrEqual(atMost);
      expect(busy).toBeGreaterThanOrEqual(exact.busy(now));
    }
  });

  it('never says that more room than there is could come', () => {
    const log = new SlidingWindowLog({ limit: 3, windowMs: 100 });
    log.add(50, 2);
    expect(log.freeAt(-1, 0)).toBe(Infinity);
    expect(log.freeAt(0, 0)).toBe(50);
    expect(log.freeAt(0, 50)).toBe(50);
  });
});
