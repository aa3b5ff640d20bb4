import { creditPool, PageStream } from '@headgate/throttle';
import { defer, from, lastValueFrom, of, toArray } from 'rxjs';
import { expect, test } from 'vitest';
import { dropBoundaryDuplicates } from './drop-boundary-duplicates.ts';
import { envelope } from './envelope.ts';
import { flattenIds } from './flatten-ids.ts';
import { splitValid } from './split-valid.ts';

const pages = [
  { user: '@alpha', page: 1, ids: ['30', '20'] },
  { user: '@alpha', page: 2, ids: ['20', '10', 'bad'] },
];

test('under credit transforms give what they give as operators, and a page holds its credit until the last of it is acknowledged', async () => {
  const valid = ({ id }: { readonly id: string }): bigint => BigInt(id);
  const event = { source: '/followers', type: 'follower', id: '1' };
  const wanted = await lastValueFrom(
    from(pages).pipe(
      dropBoundaryDuplicates(),
      flattenIds(),
      splitValid(valid),
      envelope(() => event),
      toArray(),
    ),
  );
  const credits = creditPool({ max: 10 });
  const outstanding: number[] = [];
  const stream = new PageStream(() => {
    const left = pages.values();
    return {
      read: () => {
        const { value } = left.next();
        return Promise.resolve(value && { value, credit: credits.reserve(value.ids.length) });
      },
    };
  });
  const values = await lastValueFrom(
    stream
      .through(
        dropBoundaryDuplicates(),
        flattenIds(),
        splitValid(valid),
        envelope(() => event),
      )
      .drain((value) => defer(() => (outstanding.push(credits.outstanding), of(value))), { credits, readAhead: 0 })
      .pipe(toArray()),
  );
  expect(values).toEqual(wanted);
  expect(values.map(({ value }) => (value.ok ? value.value : value.dead.record))).toEqual([
    30n,
    20n,
    10n,
    { user: '@alpha', page: 2, id: 'bad' },
  ]);
  expect(outstanding).toEqual([2, 2, 3, 3]);
  expect(credits.outstanding).toBe(0);
});
