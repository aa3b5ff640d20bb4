import fc from 'fast-check';
import { expect, test } from 'vitest';

import { SandboxOptionError } from '../sandbox-option-error.ts';
import { createRequestWindow } from './window.ts';
import type { WindowKind } from './window.ts';

const kinds: readonly WindowKind[] = ['first-request', 'wall-clock', 'rolling'];

function allowedAt(kind: WindowKind, timesMs: readonly number[]): boolean[] {
  const window = createRequestWindow({ kind, limit: 2, windowMs: 100 });
  return timesMs.map((nowMs) => window.take(nowMs).allowed);
}

test('a first-request window opens at the first request and ends its length later', () => {
  expect(allowedAt('first-request', [1050, 1051, 1149, 1150, 1160, 1249, 1250])).toEqual([true, true, false, true, true, false, true]);
});

test('a wall-clock window begins at whole multiples of its length', () => {
  expect(allowedAt('wall-clock', [1050, 1099, 1099, 1100, 1101, 1199, 1200])).toEqual([true, true, false, true, true, false, true]);
});

test('a rolling window frees each request its length after it was counted', () => {
  expect(allowedAt('rolling', [1050, 1090, 1149, 1150, 1151, 1190, 1191])).toEqual([true, true, false, true, false, true, false]);
});

test('a response says what remains and when it resets', () => {
  const reset = (kind: WindowKind): number[] => {
    const window = createRequestWindow({ kind, limit: 2, windowMs: 100 });
    return [1050, 1060, 1070].flatMap((nowMs) => {
      const { remaining, resetMs } = window.take(nowMs);
      return [remaining, resetMs];
    });
  };
  expect(reset('first-request')).toEqual([1, 1150, 0, 1150, 0, 1150]);
  expect(reset('wall-clock')).toEqual([1, 1100, 0, 1100, 0, 1100]);
  expect(reset('rolling')).toEqual([1, 1150, 0, 1150, 0, 1150]);
});

test('waiting until the reset is always enough, and no kind lets more than its limit through between resets', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...kinds),
      fc.integer({ min: 1, max: 5 }),
      fc.array(fc.integer({ min: 0, max: 60 }), { maxLength: 60, size: 'max' }),
      (kind, limit, gapsMs) => {
        const window = createRequestWindow({ kind, limit, windowMs: 100 });
        let nowMs = 12_345;
        const counted: number[] = [];
        const waits: number[] = [];
        const afterWait: boolean[] = [];
        for (const gapMs of gapsMs) {
          nowMs += gapMs;
          const verdict = window.take(nowMs);
          if (!verdict.allowed) {
            waits.push(verdict.resetMs - nowMs);
            nowMs = verdict.resetMs;
            afterWait.push(window.take(nowMs).allowed);
          }
          counted.push(nowMs);
        }
        expect(waits.every((waitMs) => waitMs > 0 && waitMs <= 100)).toBe(true);
        expect(afterWait.every(Boolean)).toBe(true);
        // In any 100 ms, a rolling window permits at most its limit. The other kinds permit twice that, because two windows can meet.
        const most = kind === 'rolling' ? limit : 2 * limit;
        for (const from of counted) expect(counted.filter((at) => at >= from && at < from + 100).length).toBeLessThanOrEqual(most);
      },
    ),
  );
});

test('limits, lengths and kinds that cannot be are refused', () => {
  expect(() => createRequestWindow({ kind: 'rolling', limit: 0, windowMs: 100 })).toThrow(SandboxOptionError);
  expect(() => createRequestWindow({ kind: 'rolling', limit: 1, windowMs: Number.NaN })).toThrow(/windowMs is NaN/u);
  const given: { kind: WindowKind } = JSON.parse('{"kind":"sliding"}');
  expect(() => createRequestWindow({ ...given, limit: 1, windowMs: 100 })).toThrow('give one of first-request, wall-clock, rolling');
});
