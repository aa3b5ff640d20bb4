import * as fc from 'fast-check';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { crawlChanges, type CrawlChange, type CrawlChangesOptions } from './crawl-changes.ts';
import type { OperatorError } from './operator-error.ts';

type Ids = readonly string[];

async function all(
  { before, after, perPage = 3 }: { readonly before: Ids; readonly after: Ids; readonly perPage?: number },
  options: Partial<CrawlChangesOptions> = {},
): Promise<CrawlChange[]> {
  const changes: CrawlChange[] = [];
  const pages = (ids: Ids) => () =>
    Array.from({ length: Math.ceil(ids.length / perPage) }, (_, i) => ids.slice(i * perPage, (i + 1) * perPage));
  for await (const change of crawlChanges({ before: pages(before), after: pages(after), ...options })) {
    changes.push(change);
  }
  return changes;
}

function expected(before: Ids, after: Ids): CrawlChange[] {
  const [had, has] = [new Set(before), new Set(after)];
  return [
    ...[...has].filter((id) => !had.has(id)).map((id) => ({ change: 'followed', id }) as const),
    ...[...had].filter((id) => !has.has(id)).map((id) => ({ change: 'unfollowed', id }) as const),
  ];
}

const largest = '18446744073709551615';

test('an id of one crawl alone is a change; the followed come first, each in the order of its crawl', async () => {
  expect(await all({ before: ['0', '5', largest, '3'], after: ['9', '5', '7', largest] })).toEqual([
    { change: 'followed', id: '9' },
    { change: 'followed', id: '7' },
    { change: 'unfollowed', id: '0' },
    { change: 'unfollowed', id: '3' },
  ]);
});

test('an id that comes twice in a crawl is one change', async () => {
  expect(await all({ before: ['1', '1', '2', '2'], after: ['2', '3', '3', '2'] })).toEqual([
    { change: 'followed', id: '3' },
    { change: 'unfollowed', id: '1' },
  ]);
});

test('the changes are the differences of two sets, in the order of their crawls', async () => {
  const ids = fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 30n })).map(String), {
    maxLength: 80,
  });
  await fc.assert(
    fc.asyncProperty(ids, ids, fc.integer({ min: 1, max: 90 }), async (before, after, perPage) => {
      expect(await all({ before, after, perPage })).toEqual(expected(before, after));
    }),
  );
});

test('the same changes in the same order, however little memory there is and wherever ids go in it', async () => {
  const crawl = fc.record({
    from: fc.integer({ min: 0, max: 3_000 }),
    count: fc.integer({ min: 0, max: 3_000 }),
    step: fc.constantFrom(1n, 2n ** 22n, 2n ** 32n),
  });
  const idsOf = ({ from, count, step }: { from: number; count: number; step: bigint }): string[] =>
    // Some IDs repeat an earlier one.
    Array.from({ length: count }, (_, i) => String(BigInt(from + (i % 10 === 9 ? i >> 1 : i)) * step));
  await fc.assert(
    fc.asyncProperty(
      crawl,
      crawl,
      fc.integer({ min: 4_096, max: 80_000 }),
      fc.double({ min: 0, max: 0.999, noNaN: true }),
      async (one, other, maxBytes, at) => {
        const [before, after] = [idsOf(one), idsOf(other)];
        expect(await all({ before, after, perPage: 100 }, { maxBytes, random: () => at })).toEqual(expected(before, after));
      },
    ),
    { numRuns: 60 },
  );
});

test.each([
  ['in sequence', (index: number) => BigInt(index)],
  ['with the time in the upper bits', (index: number) => BigInt(index) << 22n],
  ['in the upper half alone', (index: number) => BigInt(index) << 32n],
])('90,000 ids %s, two thirds of them in both crawls, are compared in six parts at most', async (_, idOf) => {
  const ids = Array.from({ length: 90_000 }, (_, index) => String(idOf(index)));
  let read = 0;
  const reading = (crawl: Ids) =>
    function* () {
      read += 1;
      yield crawl;
    };
  const [before, after] = [ids.slice(0, 75_000), ids.slice(15_000)];
  const counts = { followed: 0, unfollowed: 0 };
  for await (const { change } of crawlChanges({ before: reading(before), after: reading(after), maxBytes: 300_000 })) counts[change] += 1;
  expect(counts).toEqual({ followed: 15_000, unfollowed: 15_000 });
  expect(read).toBeLessThanOrEqual(2 * 6 + 2);
});

test('the last reading goes as fast as its changes are taken, and is let go of early', async () => {
  let closed = 0;
  let page = 0;
  const after = async function* () {
    try {
      for (page = 1; page <= 100; page += 1) yield [String(page)];
    } finally {
      closed += 1;
    }
  };
  const changes = crawlChanges({ before: () => [], after });
  await changes.next();
  await changes.next();
  expect([page, closed]).toEqual([2, 1]);
  await changes.return();
  expect([page, closed]).toEqual([2, 2]);
});

test('nothing is read again if nothing has changed', async () => {
  let read = 0;
  const crawl = () => {
    read += 1;
    return [['1', '2']];
  };
  const changes = crawlChanges({ before: crawl, after: crawl });
  expect(await changes.next()).toEqual({ done: true, value: undefined });
  expect(read).toBe(2);
});

describe('a crawl that can be read only once is refused, instead of giving no changes', () => {
  const once: Record<string, (pages: readonly Ids[]) => CrawlChangesOptions['after']> = {
    'a generator': (pages) => {
      const generator = (function* () {
        yield* pages;
      })();
      return () => generator;
    },
    'an async generator': (pages) => {
      const generator = (async function* () {
        yield* pages;
      })();
      return () => generator;
    },
    'an iterator in a new iterable': (pages) => {
      const iterator = pages.values();
      return () => ({ [Symbol.iterator]: () => iterator });
    },
    'a stream, copied to a new generator': (pages) => {
      const stream = Readable.from(pages);
      return async function* () {
        for await (const ids of stream) yield ids as Ids;
      };
    },
  };
  const again = (count: number) =>
    `at each call: it had ${count} IDs at first, and 0 later. An iterator or a stream can be read only once.`;

  test.each(Object.entries(once))('%s', async (_, reading) => {
    const pages = [['1', '2'], ['3']];
    await expect(Array.fromAsync(crawlChanges({ before: () => [], after: reading(pages) }))).rejects.toMatchObject({
      code: 'HEADGATE_INVALID_OPTION',
      message: `Option after of crawlChanges must return the same crawl from its start ${again(3)}`,
    });
    await expect(Array.fromAsync(crawlChanges({ before: reading(pages), after: () => [] }))).rejects.toThrow(
      `Option before of crawlChanges must return the same crawl from its start ${again(3)}`,
    );
  });

  test('before any change, if the ids are compared in parts', async () => {
    const ids = Array.from({ length: 1_000 }, (_, index) => String(index));
    for (const crawls of [
      { before: () => [], after: once['a generator']?.([ids]) ?? (() => []) },
      { before: once['a generator']?.([ids]) ?? (() => []), after: () => [ids.slice(1)] },
    ]) {
      await expect(crawlChanges({ ...crawls, maxBytes: 4_096 }).next()).rejects.toThrow(again(1_000));
    }
  });
});

test('a crawl that is another at its last reading ends with an error, unless the changes are the same', async () => {
  const ids = fc.uniqueArray(fc.nat(40).map(String), { maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(ids, ids, fc.func(fc.nat()), fc.nat(3), fc.nat(3), async (before, after, orderOf, cut, added) => {
      const other = (crawl: Ids): Ids => [
        ...Array.from({ length: added }, (_, index) => String(100 + index)),
        ...crawl.slice(cut).toSorted((a, b) => orderOf(a) - orderOf(b)),
      ];
      const changing = (crawl: Ids) => {
        let read = 0;
        return () => [read++ === 0 ? crawl : other(crawl)];
      };
      const shown = (changes: readonly CrawlChange[]): string[] => changes.map(({ change, id }) => `${change} ${id}`).toSorted();
      const outcome = await Array.fromAsync(crawlChanges({ before: changing(before), after: changing(after) })).then(
        shown,
        ({ code }: OperatorError) => code,
      );
      expect([shown(expected(before, after)), 'HEADGATE_INVALID_OPTION']).toContainEqual(outcome);
    }),
  );
});

test('an id of the later crawl that leaves a full table is reported once', async () => {
  const after = Array.from({ length: 2_000 }, (_, index) => String(index));
  const changes = await Array.fromAsync(crawlChanges({ before: () => [['7']], after: () => [after], maxBytes: 4_096 }));
  expect(changes.map(({ id }) => id)).toEqual(after.filter((id) => id !== '7'));
});

test('a crawl that is compared in parts and is another at its last reading ends with an error', async () => {
  const ids = Array.from({ length: 2_000 }, (_, index) => String(index));
  let reads = 0;
  const compare = async (last: number): Promise<unknown> => {
    reads = 0;
    const after = () => [++reads === last ? ids.toReversed().slice(1).concat('7') : ids];
    return await Array.fromAsync(crawlChanges({ before: () => [['7']], after, maxBytes: 4_096, random: () => 0.5 }));
  };
  await compare(Infinity);
  await expect(compare(reads)).rejects.toMatchObject({ code: 'HEADGATE_INVALID_OPTION' });
});

describe('refused is', () => {
  test.each(['', '-1', '01', '1.0', '1e3', ' 1', '0x1', '18446744073709551616', '99999999999999999999', '100000000000000000000', 'alpha'])(
    '%j as an id of either crawl',
    async (id) => {
      await expect(all({ before: ['1', id], after: [] })).rejects.toMatchObject({
        name: 'OperatorError',
        code: 'HEADGATE_INVALID_ID',
        retryable: false,
      });
      await expect(all({ before: [], after: ['1', id] })).rejects.toThrow(
        `${JSON.stringify(id)} isn't an ID. IDs are 0 to 18446744073709551615, in decimal digits without leading zeros.`,
      );
    },
  );

  test.each<[string, unknown]>([
    ['the number 20', 20],
    ['the bigint 20', 20n],
    ['a value of type object', { id: '20' }],
    ['a value of type null', null],
    ['a value of type undefined', undefined],
  ])('an id of either crawl that is not text: %s', async (shown, id) => {
    const message = `An ID must be text, such as "20", not ${shown}: numbers lose digits of long IDs.`;
    const ids = ['1', id] as string[];
    await expect(all({ before: ids, after: [] })).rejects.toMatchObject({ code: 'HEADGATE_INVALID_ID', message });
    await expect(all({ before: [], after: ids })).rejects.toMatchObject({ code: 'HEADGATE_INVALID_ID', message });
  });

  test.each([0, 4_095, 5_000.5, Number.NaN])('maxBytes of %d', (maxBytes) => {
    expect(() => crawlChanges({ before: () => [], after: () => [], maxBytes })).toThrow(
      `Option maxBytes of crawlChanges must be a whole number from 4096, got ${maxBytes}.`,
    );
  });
});
