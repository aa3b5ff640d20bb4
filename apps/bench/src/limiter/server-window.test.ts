import { describe, expect, it } from 'vitest';
import { serverWindow, WINDOW_KINDS } from './server-window.ts';

const options = { limit: 2, windowMs: 100, phaseMs: 30 };
const counted = (kind: (typeof WINDOW_KINDS)[number], times: readonly number[]): readonly boolean[] => {
  const window = serverWindow({ kind, ...options });
  return times.map((at) => window.count(at));
};

describe('a server window', () => {
  it('opens with the first request and ends a window later', () => {
    expect(counted('first-request', [10, 20, 109, 110, 111, 112])).toEqual([true, true, false, true, true, false]);
  });

  it('ends by the clock on the wall', () => {
    expect(counted('wall-clock', [10, 20, 29, 30, 31, 129, 130])).toEqual([true, true, false, true, true, false, true]);
  });

  it('rolls: no stretch of its length holds more than the limit', () => {
    expect(counted('rolling', [10, 60, 109, 110, 159, 160])).toEqual([true, true, false, true, false, true]);
  });

  it.each(WINDOW_KINDS)('reports what is left and when it ends (%s)', (kind) => {
    const window = serverWindow({ kind, ...options });
    window.count(10);
    expect(window.remaining).toBe(1);
    window.count(20);
    expect(window.remaining).toBe(0);
    expect(window.resetAtMs()).toBe(kind === 'wall-clock' ? 30 : 110);
  });
});
