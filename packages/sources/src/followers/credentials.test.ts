import { bearer } from '@headgate/auth';
import { type FollowersCredential, type FollowersSandbox, type FollowersSandboxOptions, startFollowers } from '@headgate/sandbox';
import fc from 'fast-check';
import { lastValueFrom, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import type { SourceError } from '../source-error.ts';
import { type Followers, followers } from './followers.ts';

const NAMES = ['one', 'two', 'three'];

const credentials = (first: Partial<FollowersCredential> = {}): readonly FollowersCredential[] =>
  NAMES.map((name, i) => ({ name, bearer: `token-${name}`, ...(i === 0 && first) }));

function serve(options: FollowersSandboxOptions): Promise<FollowersSandbox> {
  return startFollowers({ window: { limit: 1_000 }, credentials: credentials(), ...options });
}

function open({ url }: FollowersSandbox, names: readonly string[] = NAMES): Followers {
  return followers({
    baseUrl: url,
    credentials: names.map((name) => ({ name, signer: bearer(`token-${name}`) })),
    limit: { requests: 1_000, windowMs: 900_000 },
    env: {},
  });
}

/** Crawls each user, and returns the pages or the error of each. */
async function crawled(api: Followers, users: readonly string[]): Promise<readonly (number | SourceError)[]> {
  return await Promise.all(
    users.map(async (screenName) => {
      const pages = await lastValueFrom(api.pages({ screenName }).pipe(toArray())).catch((error: unknown) => error as SourceError);
      return pages instanceof Error ? pages : pages.length;
    }),
  );
}

const carriers = ({ requests }: FollowersSandbox): readonly (string | undefined)[] => requests.map(({ credential }) => credential);

describe('one bad token of three', () => {
  const users = Object.fromEntries(Array.from({ length: 15 }, (_, i) => [`user${i}`, { followers: 3 }]));

  test.each([32, 64, 89, 99, 220, 261, 326, 416, 453] as const)(
    'with code %i is removed, and each user is crawled',
    async (refusedWith) => {
      await using server = await serve({ users, credentials: credentials({ refusedWith }) });
      await using api = open(server);
      expect(await crawled(api, Object.keys(users))).toEqual(Object.keys(users).map(() => 1));
      expect(api.gauges().budgets.map(({ credential }) => credential)).toEqual(['two', 'three']);
    },
  );

  test.each([
    [89, 401, 'removed', 'problem'],
    [89, 401, 'removed', 'text'],
    [89, 401, 'removed', 'empty'],
    [453, 403, 'kept', 'problem'],
    [453, 403, 'kept', 'text'],
    [453, 403, 'kept', 'empty'],
  ] as const)('without a code (%i, so %i) is %s, and each user is crawled (%s)', async (refusedWith, _, fate, errorFormat) => {
    await using server = await serve({ users, credentials: credentials({ refusedWith }), errorFormat });
    await using api = open(server);
    expect(await crawled(api, Object.keys(users))).toEqual(Object.keys(users).map(() => 1));
    expect(api.gauges().budgets).toHaveLength(fate === 'kept' ? 3 : 2);
  });

  test('if it is the only one, ends the source with its reason', async () => {
    await using server = await serve({ users, credentials: credentials({ refusedWith: 453 }) });
    await using api = open(server, ['one']);
    const [error] = await crawled(api, ['user0']);
    expect(error).toMatchObject({
      code: 'HEADGATE_CREDENTIAL_FORBIDDEN',
      endsSource: true,
      message:
        'one: its app or plan doesn\'t include this request (403 "You currently have access to a subset of endpoints only."). ' +
        'Check its access level at the service, or use another.',
    });
    expect(server.requests).toHaveLength(1);
  });
});

describe('a protected user', () => {
  test('is read by the token of a follower, whichever it is, and the others stay', async () => {
    for (const name of NAMES) {
      await using server = await serve({ users: { alpha: { followers: 3 }, carol: { followers: 4, protected: [name] } } });
      await using api = open(server);
      expect(await crawled(api, ['carol', 'alpha'])).toEqual([1, 1]);
      expect(api.gauges().budgets).toHaveLength(3);
    }
  });

  test('is requested once with each token before it fails, and the error names them', async () => {
    await using server = await serve({ users: { alpha: { followers: 3 }, carol: { protected: true } } });
    await using api = open(server);
    const [error] = await crawled(api, ['carol']);
    expect(error).toMatchObject({
      code: 'HEADGATE_USER_PROTECTED',
      subject: '@carol',
      retryable: false,
      endsSource: false,
      message:
        '@carol: the account is protected (401 "Not authorized."). Only credentials of its followers can read this list. ' +
        'Use one of them, or remove the user. Headgate requested it with each of one, two, three.',
    });
    expect(carriers(server).toSorted()).toEqual(NAMES.toSorted());
    expect(await crawled(api, ['alpha'])).toEqual([1]);
    expect(api.gauges().budgets).toHaveLength(3);
  });

  test('costs one request with one token', async () => {
    await using server = await serve({ users: { carol: { protected: true } } });
    await using api = open(server, ['two']);
    const [error] = await crawled(api, ['carol']);
    expect(error).toMatchObject({ message: expect.stringMatching(/or remove the user\.$/) as string });
    expect(server.requests).toHaveLength(1);
  });
});

test.each(['problem', 'text', 'empty'] as const)(
  'a missing user ends its own walk whatever the form of the 404 (%s)',
  async (errorFormat) => {
    await using server = await serve({ users: { alpha: { followers: 3 } }, errorFormat });
    await using api = open(server);
    const [missing, found] = await crawled(api, ['nobody', 'alpha']);
    expect(missing).toMatchObject({ code: 'HEADGATE_USER_NOT_FOUND', subject: '@nobody' });
    expect(found).toBe(1);
    expect(server.requests).toHaveLength(2);
  },
);

test('a user is crawled if any token may read the list, whatever the service says to the others', async () => {
  const refusal = fc.constantFrom(undefined, undefined, 32, 64, 89, 99, 220, 261, 326, 416, 453);
  const user = fc.oneof(
    fc.constant<'public' | 'missing'>('public'),
    fc.constant<'public' | 'missing'>('missing'),
    fc.subarray(NAMES).map((friends) => ({ friends })),
  );
  await fc.assert(
    fc.asyncProperty(fc.tuple(refusal, refusal, refusal), fc.array(user, { minLength: 1, maxLength: 8 }), async (refusals, users) => {
      const good = NAMES.filter((_, i) => refusals[i] === undefined);
      await using server = await serve({
        users: Object.fromEntries(
          users.flatMap((one, i) => {
            if (one === 'missing') return [];
            return [[`user${i}`, { followers: 3, protected: one === 'public' ? false : one.friends }]];
          }),
        ),
        credentials: credentials().map((one, i) => ({ ...one, ...(refusals[i] !== undefined && { refusedWith: refusals[i] }) })),
      });
      await using api = open(server);
      const results = await crawled(
        api,
        users.map((_, i) => `user${i}`),
      );
      const wanted = users.map((one) => {
        if (good.length === 0) return 'the source ended';
        if (one === 'missing') return 'HEADGATE_USER_NOT_FOUND';
        return one === 'public' || one.friends.some((name) => good.includes(name)) ? 'crawled' : 'HEADGATE_USER_PROTECTED';
      });
      const got = results.map((one) => (typeof one === 'number' ? 'crawled' : one.endsSource ? 'the source ended' : one.code));
      expect(got).toEqual(wanted);
      const left = new Set(api.gauges().budgets.map(({ credential }) => credential));
      expect(good.every((name) => left.has(name))).toBe(true);
      // Each token sees a user once, and a refused one stops soon: at most the requests that were in flight with it were in vain.
      expect(server.requests.length).toBeLessThanOrEqual(users.length * (NAMES.length + 1) * 2);
    }),
    { numRuns: 40 },
  );
});
