import { creditPool, PageStream } from '@headgate/throttle';
import { defer, from, lastValueFrom, of, toArray } from 'rxjs';
import { expect, test } from 'vitest';
import { dropBoundaryDuplicates } from './boundary-duplicates.ts';
import { envelope } from './envelope.ts';
import { flattenIds } from './flatten-ids.ts';

const pages = [
  { user: '@alpha', page: 1, ids: ['30', '20'] },
  { user: '@alpha', page: 2, ids: ['20', '10', '5'] },
];

test('under credit transforms give what they give as operators, and a page holds its credit until the last of it is acknowledged', async () => {
  const event = { source: '/followers', type: 'follower', id: '1' };
  const wanted = await lastValueFrom(
    from(pages).pipe(
      dropBoundaryDuplicates(),
      flattenIds(),
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
        return Promise.resolve(value && [{ value, credit: credits.reserve(value.ids.length) }]);
      },
    };
  });
  const values = await lastValueFrom(
    stream
      .through(
        dropBoundaryDuplicates(),
        flattenIds(),
        envelope(() => event),
      )
      .drain((value) => defer(() => (outstanding.push(credits.outstanding), of(value))), { credits, readAhead: 0 })
      .pipe(toArray()),
  );
  expect(values).toEqual(wanted);
  expect(values.map(({ value }) => value.id)).toEqual(['30', '20', '10', '5']);
  expect(outstanding).toEqual([2, 2, 3, 3]);
  expect(credits.outstanding).toBe(0);
});
