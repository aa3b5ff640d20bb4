import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue, type Queued } from './fair-queue.ts';

interface Entry extends Queued {
  readonly name: string;
}

const entry = (name: string, walk?: object): Entry => ({
  name,
  turn: 0,
  ...(walk !== undefined && { walk }),
});

function order(queue: FairQueue<Entry>): string {
  let served = '';
  for (let [next] = queue.entries; next !== undefined; [next] = queue.entries) {
    queue.delete(next);
    queue.served(next);
    served += next.name;
  }
  return served;
}

describe('FairQueue', () => {
  it('is first come first served for requests that belong to no walk', () => {
    const queue = new FairQueue<Entry>();
    for (const name of 'abcd') queue.add(entry(name));
    expect(order(queue)).toBe('abcd');
  });

  it('lets walks take turns, however many requests one of them has waiting', () => {
    const queue = new FairQueue<Entry>();
    const [big, small] = [{}, {}];
    for (let i = 0; i < 6; i += 1) queue.add(entry('B', big));
    for (let i = 0; i < 2; i += 1) queue.add(entry('s', small));
    expect(order(queue)).toBe('BsBsBBBB');
  });

  it('gives one that comes late its turn next, without letting it catch up', () => {
    const queue = new FairQueue<Entry>();
    const [early, late] = [{}, {}];
    for (let i = 0; i < 100; i += 1) queue.add(entry('e', early));
    for (let i = 0; i < 50; i += 1) {
      const [next] = queue.entries;
      if (next === undefined) break;
      queue.delete(next);
      queue.served(next);
    }
    for (let i = 0; i < 3; i += 1) queue.add(entry('l', late));
    expect(order(queue).slice(0, 8)).toMatch(/^e?lelele/);
  });

  it('never lets a request that comes after a turn go before one that waited in it, however many come', () => {
    const step = fc.oneof(fc.constant('serve'), fc.constant('newcomer'), fc.nat(3));
    fc.assert(
      fc.property(fc.array(step, { maxLength: 200, size: 'max' }), (steps) => {
        // Four walks send requests again and again; each newcomer sends one.
        const walks = Array.from({ length: 4 }, () => ({}));
        const queue = new FairQueue<Entry & { grantsLeft?: number }>();
        for (const what of steps) {
          const walk = typeof what === 'number' ? walks[what] : undefined;
          const waiting = [...queue.entries];
          if (what !== 'serve') {
            if (walk === undefined || waiting.every((other) => other.walk !== walk)) queue.add(entry('x', walk));
            continue;
          }
          const [next, ...others] = waiting;
          if (next === undefined) continue;
          queue.delete(next);
          queue.served(next);
          for (const other of others) other.grantsLeft = (other.grantsLeft ?? waiting.length) - 1;
          expect(others.every(({ grantsLeft = 0 }) => grantsLeft > 0)).toBe(true);
        }
      }),
    );
  });

  it('gives no walk more than two turns while another waits', () => {
    const walks = fc.array(fc.array(fc.nat(8), { minLength: 1, maxLength: 40, size: 'max' }), { minLength: 2, maxLength: 12 });
    fc.assert(
      fc.property(walks, (specs) => {
        const queue = new FairQueue<Entry & { readonly number: number; readonly turns: number[] }>();
        // `pauses`: how many iterations of the loop below pass before each request of the walk.
        const plans = specs.map((pauses) => ({ walk: {}, pauses: [...pauses], askAt: pauses[0] ?? 0 }));
        for (let grant = 0; grant < 400; grant += 1) {
          for (const [number, plan] of plans.entries()) {
            if (plan.askAt > grant) continue;
            plan.askAt = Infinity;
            queue.add({ ...entry('x', plan.walk), number, turns: specs.map(() => 0) });
          }
          const [next, ...others] = queue.entries;
          if (next === undefined) continue;
          queue.delete(next);
          queue.served(next);
          const plan = plans[next.number];
          if (plan?.pauses.shift() !== undefined) plan.askAt = grant + 1 + (plan.pauses[0] ?? Infinity);
          for (const { turns } of others) {
            turns[next.number] = (turns[next.number] ?? 0) + 1;
            expect(turns[next.number]).toBeLessThanOrEqual(2);
          }
        }
      }),
    );
  });

  it('serves everyone in the end, and each walk in its own order', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(4), { maxLength: 60, size: 'max' }), (adds) => {
        const walks = Array.from({ length: 5 }, () => ({}));
        const queue = new FairQueue<Entry & { readonly number: number }>();
        for (const [number, walk] of adds.entries()) queue.add({ ...entry('x', walks[walk]), number });
        const served: number[] = [];
        for (let [next] = queue.entries; next !== undefined; [next] = queue.entries) {
          queue.delete(next);
          queue.served(next);
          served.push(next.number);
        }
        expect(served.toSorted((a, b) => a - b)).toEqual(adds.map((_, i) => i));
        for (let walk = 0; walk < 5; walk += 1) {
          const own = served.filter((number) => adds[number] === walk);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});
