import { bearer } from '@headgate/auth';
import { dropBoundaryDuplicates, flattenIds } from '@headgate/operators';
import { startFollowers } from '@headgate/sandbox';
import { followers } from '@headgate/sources/followers';
import { gather, mergePages } from '@headgate/throttle';
import { defer, lastValueFrom } from 'rxjs';
import { expect, test } from 'vitest';

/** How far requests are ahead of writing, with every page that was asked for counted in full. */
test('several users, merged, freed of repeats, flattened, gathered and written slowly: never more than the cap on its way', async () => {
  const cap = 20_000;
  const pageSize = 5_000;
  const users = { alpha: { followers: 40_000 }, bravo: { followers: 40_000 }, carol: { followers: 15_000 } };
  await using server = await startFollowers({ users, anyBearer: true, window: { limit: 10_000 } });
  await using api = followers({
    baseUrl: server.url,
    credentials: [{ name: 'app', signer: bearer('sandbox-app') }],
    limit: { requests: 10_000, windowMs: 900_000 },
  });
  const written: string[] = [];
  const lengths: number[] = [];
  let most = 0;
  const write = (batch: readonly { readonly user: string; readonly id: string }[]) =>
    defer(async () => {
      // Requests have all the time they need: what holds them back is credit alone.
      for (let i = 0; i < 20; i += 1) await new Promise((resolve) => setImmediate(resolve));
      most = Math.max(most, idsAsked(server.requests.length) - written.length);
      written.push(...batch.map(({ user, id }) => `${user} ${id}`));
      lengths.push(batch.length);
    });
  const idsAsked = (requests: number): number => Math.min(requests * pageSize, 95_000);

  const walks = Object.keys(users).map((screenName) => api.pages({ screenName }).through(dropBoundaryDuplicates(), flattenIds()));
  await lastValueFrom(
    mergePages(walks, { maxOutstanding: cap })
      .through(gather({ size: 1_024, maxWaitMs: 60_000 }))
      .drain(write),
  );

  expect(most).toBeGreaterThan(cap / 2);
  expect(most).toBeLessThanOrEqual(cap);
  const wanted = Object.keys(users).flatMap((user) => server.followersOf(user).map((id) => `@${user} ${id}`));
  expect(written.toSorted()).toEqual(wanted.toSorted());
  expect(lengths.filter((length) => length < 1_024)).toEqual([792]);
});
