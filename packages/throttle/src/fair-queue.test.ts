import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { FairQueue, type Queued } from './fair-queue.ts';

interface Entry extends Queued {
  readonly name: string;
}

const entry = (name: string, walk?: object, share?: number): Entry => ({
  name,
  turn: 0,
  ...(walk !== undefined && { walk }),
  ...(share !== undefined && { share }),
});

/** Serves everything, first come first. */
function order(queue: FairQueue<Entry>): string {
  let served = '';
  for (let [next] = queue; next !== undefined; [next] = queue) {
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

  it('gives shares', () => {
    const queue = new FairQueue<Entry>();
    const [twice, once] = [{}, {}];
    for (let i = 0; i < 6; i += 1) queue.add(entry('2', twice, 2));
    for (let i = 0; i < 3; i += 1) queue.add(entry('1', once));
    const served = order(queue);
    expect(served.slice(0, 6).replaceAll('1', '')).toBe('2222');
  });

  it('gives one that comes late its turn next, without letting it catch up', () => {
    const queue = new FairQueue<Entry>();
    const [early, late] = [{}, {}];
    for (let i = 0; i < 100; i += 1) queue.add(entry('e', early));
    for (let i = 0; i < 50; i += 1) {
      const [next] = queue;
      if (next === undefined) break;
      queue.delete(next);
      queue.served(next);
    }
    for (let i = 0; i < 3; i += 1) queue.add(entry('l', late));
    expect(order(queue).slice(0, 8)).toMatch(/^e?lelele/);
  });

  it('serves everyone in the end, and each walk in its own order', () => {
    fc.assert(
      fc.property(fc.array(fc.record({ walk: fc.nat(4), share: fc.integer({ min: 1, max: 5 }) }), { maxLength: 60 }), (adds) => {
        const walks = Array.from({ length: 5 }, () => ({}));
        const queue = new FairQueue<Entry & { readonly number: number }>();
        for (const [number, { walk, share }] of adds.entries()) queue.add({ ...entry('x', walks[walk], share), number });
        const served: number[] = [];
        for (let [next] = queue; next !== undefined; [next] = queue) {
          queue.delete(next);
          queue.served(next);
          served.push(next.number);
        }
        expect(served.toSorted((a, b) => a - b)).toEqual(adds.map((_, i) => i));
        for (let walk = 0; walk < 5; walk += 1) {
          const own = served.filter((number) => adds[number]?.walk === walk);
          expect(own).toEqual(own.toSorted((a, b) => a - b));
        }
      }),
    );
  });
});
