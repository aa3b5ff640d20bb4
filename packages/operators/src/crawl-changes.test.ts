import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { crawlChanges, type CrawlChange, type CrawlChangesOptions } from './crawl-changes.ts';
import { InvalidIdError } from './invalid-id-error.ts';
import { TooManyIdsError } from './too-many-ids-error.ts';

async function all(options: CrawlChangesOptions): Promise<CrawlChange[]> {
  const changes: CrawlChange[] = [];
  for await (const change of crawlChanges(options)) {
    changes.push(change);
  }
  return changes;
}

const largest = '18446744073709551615';

test('an id of one crawl alone is a change; the followed come first, in their order', async () => {
  expect(await all({ before: ['0', '5', largest], after: ['9', '5', '7', largest] })).toEqual([
    { change: 'followed', id: '9' },
    { change: 'followed', id: '7' },
    { change: 'unfollowed', id: '0' },
  ]);
});

test('an id that comes twice in a crawl is one change', async () => {
  expect(await all({ before: ['1', '1', '2', '2'], after: ['2', '3', '3', '2'] })).toEqual([
    { change: 'followed', id: '3' },
    { change: 'unfollowed', id: '1' },
  ]);
});

test('the changes are the differences of two sets', async () => {
  const ids = fc.array(fc.oneof(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.bigInt({ min: 0n, max: 30n })).map(String), {
    maxLength: 80,
  });
  await fc.assert(
    fc.asyncProperty(ids, ids, async (before, after) => {
      const changes = await all({ before, after });
      const followed = changes.filter(({ change }) => change === 'followed').map(({ id }) => id);
      const unfollowed = changes.filter(({ change }) => change === 'unfollowed').map(({ id }) => id);
      expect(followed).toEqual([...new Set(after)].filter((id) => !before.includes(id)));
      expect(unfollowed).toHaveLength(new Set(unfollowed).size);
      expect(new Set(unfollowed)).toEqual(new Set(before.filter((id) => !after.includes(id))));
      // Who was cut short goes on by counting.
      expect(await all({ before, after })).toEqual(changes);
    }),
  );
});

test('the later crawl is read only as its changes are taken, and let go of early', async () => {
  let read = 0;
  let closed = false;
  const after = async function* () {
    try {
      while (read < 1000) {
        read += 1;
        yield String(read);
      }
    } finally {
      closed = true;
    }
  };
  const changes = crawlChanges({ before: [], after: after() });
  await changes.next();
  await changes.next();
  expect([read, closed]).toEqual([2, false]);
  await changes.return();
  expect([read, closed]).toEqual([2, true]);
});

describe('refused is', () => {
  test.each(['', '-1', '01', '1.0', '1e3', ' 1', '0x1', '18446744073709551616', '99999999999999999999', '100000000000000000000', 'alpha'])(
    '%j as an id of either crawl',
    async (id) => {
      await expect(all({ before: ['1', id], after: [] })).rejects.toThrow(InvalidIdError);
      await expect(all({ before: [], after: ['1', id] })).rejects.toThrow(
        `${JSON.stringify(id)} is not an id: ids are 0 to 18446744073709551615, in decimal digits without leading zeros.`,
      );
    },
  );

  test('one different id too many', async () => {
    expect(await all({ before: ['1', '2', '1'], after: ['1', '2'], maxIds: 2 })).toEqual([]);
    await expect(all({ before: ['1', '2'], after: ['1', '3'], maxIds: 2 })).rejects.toThrow(TooManyIdsError);
  });

  test.each([0, 1.5, Number.NaN])('maxIds of %d', (maxIds) => {
    expect(() => crawlChanges({ before: [], after: [], maxIds })).toThrow(
      `Option maxIds of crawlChanges must be a whole number of at least 1, not ${maxIds}.`,
    );
  });
});
