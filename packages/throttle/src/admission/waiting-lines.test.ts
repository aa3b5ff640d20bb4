import { describe, expect, it } from 'vitest';
import { type CreditPool, creditPool } from './credit-pool.ts';
import { type Lined, WaitingLines } from './waiting-lines.ts';

function scene() {
  let watchers = 0;
  const room = creditPool({ max: 100 });
  const credits: CreditPool = {
    ...room,
    onRelease(callback) {
      watchers += 1;
      const unwatch = room.onRelease(callback);
      return () => {
        watchers -= 1;
        unwatch();
      };
    },
  };
  const request = (turn: number, items: number, weights: readonly number[] = []): Lined => ({
    credits,
    items,
    weights,
    turn,
    arrival: turn,
  });
  return { lines: new WaitingLines<Lined>({ onRoom: () => undefined }), request, watchers: () => watchers };
}

describe('waiting lines', () => {
  it('hold requests of the same cost and size alone', () => {
    const { lines, request } = scene();
    const [one, same, others] = [
      request(1, 5, [1, 11]),
      request(2, 5, [1, 11]),
      [request(3, 5, [11, 1]), request(4, 6, [1, 11]), request(5, 5, [])],
    ];
    for (const each of [one, same, ...others]) lines.add(each);
    expect(lines.lineOf(same)).toBe(lines.lineOf(one));
    expect(new Set([one, ...others].map((each) => lines.lineOf(each))).size).toBe(4);
  });

  it('give the turn to a request that comes before all of its line', () => {
    const { lines, request } = scene();
    const [late, first, early] = [request(3, 5), request(2, 6), request(1, 5)];
    lines.add(late);
    lines.add(first);
    expect(lines.scan().first()).toBe(first);
    lines.add(early);
    expect(lines.scan().first()).toBe(early);
    lines.delete(early);
    expect(lines.scan().first()).toBe(first);
  });

  it('forget a downstream for which no request waits', () => {
    const { lines, request, watchers } = scene();
    const all = [request(1, 5), request(2, 5), request(3, 6, [0, 1])];
    for (const one of all) lines.add(one);
    for (const one of all) {
      expect(watchers()).toBe(1);
      lines.delete(one);
    }
    expect([lines.scan().first(), watchers()]).toEqual([undefined, 0]);
  });
});
