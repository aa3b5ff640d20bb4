import fc from 'fast-check';
import { expect, it } from 'vitest';
import { zoneOf } from './zone.ts';

const local = (text: string): number => Date.parse(`${text}Z`);
const iso = (ms: number): string => new Date(ms).toISOString().slice(0, 19);

it.each([
  ['Asia/Tokyo', '2026-01-10T09:00:00', '2026-01-10T00:00:00'],
  ['America/New_York', '2026-01-10T09:00:00', '2026-01-10T14:00:00'],
  ['America/New_York', '2026-07-10T09:00:00', '2026-07-10T13:00:00'],
  ['Asia/Kathmandu', '2026-01-10T05:45:00', '2026-01-10T00:00:00'],
  // Clocks skip 02:30 on March 8, and show 01:30 twice on November 1.
  ['America/New_York', '2026-03-08T02:30:00', '2026-03-08T07:30:00'],
  ['America/New_York', '2026-11-01T01:30:00', '2026-11-01T05:30:00'],
  ['UTC', '2026-01-10T09:00:00', '2026-01-10T09:00:00'],
])('in %s, clocks show %s at %s UTC', (zone, shown, instant) => {
  expect(iso(zoneOf(zone).instantOf(local(shown)))).toBe(instant);
});

it('any instant is found again by its local time, or one at which clocks show the same', () => {
  const zones = ['Europe/Berlin', 'America/St_Johns', 'Australia/Lord_Howe', 'Africa/Casablanca', 'Pacific/Apia', 'Asia/Tokyo'].map(zoneOf);
  fc.assert(
    fc.property(fc.constantFrom(...zones), fc.integer({ min: 0, max: 2 ** 41 }), (zone, ms) => {
      const shown = zone.localAt(ms);
      const found = zone.instantOf(shown);
      expect(found).toBeLessThanOrEqual(ms);
      expect(zone.localAt(found)).toBe(shown);
    }),
  );
});
