import { sampleIsbn } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { begunLists, listBegun, listDone, listGoesOn } from './book-list.ts';

const [a, b] = [sampleIsbn(1), sampleIsbn(2)];
const spelled = `${a.slice(0, 3)}-${a.slice(3)}`;

describe('a list of ISBNs', () => {
  it('asks for each ISBN once, however it is spelled, and has what is none last', () => {
    expect(begunLists(stateOf([])).asks(3, ['x', spelled, b, a, 'x', b])).toEqual([a, b, 'x']);
  });

  it('is kept with its places, also when it is longer than one record', () => {
    const isbns = Array.from({ length: 25_000 }, (_, i) => sampleIsbn(i));
    const answered = { next: 100, done: [[25_000, 25_000]] } as const;
    const state = [...listBegun(3, [...isbns, 'x']), listGoesOn(3, answered)];
    const lists = begunLists(stateOf(state.toReversed()));
    expect(lists.answered.get(3)).toEqual(answered);
    expect(lists.wishes).toEqual([{ offset: 3, key: null, value: JSON.stringify({ isbns }) }]);
    expect(lists.asks(3, isbns)).toEqual(isbns);
    expect(new Set(listDone(3, [...isbns, 'x']).map(([key]) => key))).toEqual(new Set(state.map(([key]) => key)));
  });

  it('has parts of half of the smallest state record at most', () => {
    const isbns = Array.from({ length: 25_000 }, (_, i) => sampleIsbn(i));
    const sizes = listBegun(3, isbns).map((change) => JSON.stringify(change).length);
    expect(Math.max(...sizes)).toBeLessThan(32_800);
  });

  it('begun by an earlier version, in larger parts, is read and forgotten whole', () => {
    const isbns = Array.from({ length: 25_000 }, (_, i) => sampleIsbn(i));
    const parts = [0, 1, 2].map((i) => [`isbns/3/${i}`, isbns.slice(i * 10_000, (i + 1) * 10_000)] as const);
    const lists = begunLists(stateOf([...parts, listGoesOn(3, { next: 100, done: [] })]));
    expect(lists.asks(3, isbns)).toEqual(isbns);
    expect(lists.wishes).toEqual([{ offset: 3, key: null, value: JSON.stringify({ isbns }) }]);
    expect(listDone(3, isbns).map(([key]) => key)).toEqual(expect.arrayContaining(parts.map(([key]) => key)));
  });

  it('begun by an earlier version keeps the places it was begun with', () => {
    expect(begunLists(stateOf([listGoesOn(3, { next: 2, done: [] })])).asks(3, ['x', a, a, b])).toEqual(['x', a, a, b]);
  });
});

function stateOf(state: readonly (readonly [key: string, value: unknown])[]) {
  return (prefix: string) =>
    state.filter(([key]) => key.startsWith(prefix)).map(([key, value]) => ({ key: key.slice(prefix.length), value, ageMs: 0 }));
}
