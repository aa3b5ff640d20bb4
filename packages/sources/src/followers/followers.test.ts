import { bearer, oauth1 } from '@headgate/auth';
import { type Fault, startFollowers } from '@headgate/sandbox';
import { type Clock, creditPool, systemClock } from '@headgate/throttle';
import { lastValueFrom, NEVER, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import type { SourceOptions } from '../source-options.ts';
import { sourceContract } from '../testing/index.ts';
import { whole } from '../testing/responses.ts';
import { type Respond, scriptedServer } from '../testing/scripted-server.ts';
import { type Followers, followers } from './followers.ts';
import type { FollowerPage } from './page.ts';

const MINUTE_MS = 60_000;

describe('the contract of every source', () => {
  const page = { ids: ['1152921504606846977', '18446744073709551615', '7'], next_cursor_str: '0', previous_cursor_str: '0' };
  const checks = sourceContract({
    open: followers,
    query: async (api: Followers, options) => (await api.pages({ screenName: 'alpha' }).reader(options).read())?.[0],
    body: JSON.stringify(page),
    expected: {
      user: '@alpha',
      page: 1,
      cursor: '-1',
      nextCursor: '0',
      previousCursor: '0',
      ids: page.ids,
      credential: 'contract',
      next: 'last',
    },
    mismatches: [
      {
        body: JSON.stringify({ ...page, ids: Array.from({ length: 10_001 }, () => '9') }),
        where: 'ids: expected at most 5,000 (count), got 10,001',
      },
      { body: '{"ids":["12","kept to itself"],"next_cursor":0}', where: 'ids.1: expected digits of at most 64 bits, got text' },
      { body: '{"ids":{"kept":"kept to itself"},"next_cursor":0}', where: 'ids: expected a list, got an object' },
      { body: '{"token":"kept to itself"}', where: 'ids: expected a list, got nothing' },
      { body: '["kept to itself"]', where: 'expected an object with ids, got a list' },
    ],
    endlessWalk: {
      walk: (api) => api.pages({ screenName: 'alpha', maxEmptyPages: 5 }),
      page: (n) => JSON.stringify({ ids: [], next_cursor: n }),
      option: 'maxEmptyPages',
    },
  });
  test.each(checks)('$name', async ({ run }) => {
    await expect(run()).resolves.toBeUndefined();
  });
});

describe('a walk', () => {
  test.each([
    { idFormat: 'strings', cursorStrings: true },
    { idFormat: 'numbers', cursorStrings: true },
    { idFormat: 'numbers', cursorStrings: false },
  ] as const)('returns every id exactly and in order: $idFormat, cursor strings $cursorStrings', async (given) => {
    await using server = await startFollowers({ ...given, users: { alpha: { followers: 12_345 } } });
    await using api = open(server);
    const pages = await lastValueFrom(api.pages({ screenName: 'alpha' }).pipe(toArray()));
    expect(pages.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
    expect(pages.map(({ page }) => page)).toEqual([1, 2, 3]);
    expect(pages.map(({ cursor }) => cursor)).toEqual(['-1', pages[0]?.nextCursor, pages[1]?.nextCursor]);
    expect(BigInt(pages[0]?.nextCursor ?? 0)).toBeGreaterThan(2n ** 60n);
    expect(pages.at(-1)?.nextCursor).toBe('0');
    expect(server.requests).toHaveLength(3);
  });

  test('is an AsyncIterable and a drain as well', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 10 } } });
    await using api = open(server);
    const wanted = server.followersOf('alpha');
    const iterated: string[] = [];
    for await (const { ids } of api.pages({ screenName: 'alpha', count: 4 })) iterated.push(...ids);
    expect(iterated).toEqual(wanted);
    const drained = await lastValueFrom(
      api
        .pages({ screenName: 'alpha', count: 4 })
        .drain(({ ids }) => ids)
        .pipe(toArray()),
    );
    expect(drained).toEqual(wanted);
  });

  test('continues where another stopped, and goes back by previous cursors', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 10 } } });
    await using api = open(server);
    const all = await collect(api, { count: 3 });
    const rest = await collect(api, { count: 3, from: all[1]?.next });
    expect(rest).toEqual(all.slice(2));
    expect((await collect(api, { count: 3, cursor: all[1]?.nextCursor })).map(({ ids }) => ids)).toEqual(rest.map(({ ids }) => ids));
    expect(await collect(api, { from: all.at(-1)?.next })).toEqual([]);
    const back = await collect(api, { count: 3, cursor: all.at(-1)?.cursor ?? '', direction: 'previous' });
    expect(back.map(({ ids }) => ids)).toEqual(all.map(({ ids }) => ids).toReversed());
  });

  test('names a user by id as well', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 2, id: '1152921504606846977' } } });
    await using api = open(server);
    const pages = await lastValueFrom(api.pages({ userId: '1152921504606846977' }).pipe(toArray()));
    expect(pages.map(({ user }) => user)).toEqual(['1152921504606846977']);
    expect(pages.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
  });

  const faults: readonly Fault['name'][] = ['429', '503', 'html', 'html-503', 'reset', 'cut', 'truncated', 'drip', 'hang', 'oversize'];
  test.each(faults)('%s in the middle: nothing is lost and nothing comes twice', async (name) => {
    const fault: Fault = name === '429' ? { name, at: 3, retryAfterMs: 1_000 } : { name, at: 3 };
    await using server = await startFollowers({ users: { alpha: { followers: 12 } }, faults: [fault] });
    await using api = open(server, { timeoutMs: MINUTE_MS, clock: givesUp(3), maxBodyBytes: 100_000 });
    const pages = await collect(api, { count: 2 });
    expect(pages.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
    expect(server.requests).toHaveLength(7);
  });

  test('a repeated cursor ends it, after the page that returned it', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 12 } }, faults: [{ name: 'cursor-loop', at: 3 }] });
    await using api = open(server);
    const got: FollowerPage[] = [];
    const error = await collect(api, { count: 2 }, got).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'HEADGATE_CURSOR_LOOP', subject: '@alpha' });
    expect(got.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha').slice(0, 6));
    expect(server.requests).toHaveLength(3);
  });

  test('a page without a next cursor is requested again once', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 12 } }, faults: [{ name: 'no-cursor', at: 3 }] });
    await using api = open(server);
    expect((await collect(api, { count: 2 })).flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
    expect(server.requests).toHaveLength(7);
  });

  test('a page that still has no next cursor arrives, and ends the walk with an error, also in a resumed one', async () => {
    await using server = await startFollowers({ users: { alpha: { followers: 12 } }, faults: [{ name: 'no-cursor', at: 3, times: 2 }] });
    await using api = open(server);
    const got: FollowerPage[] = [];
    const error = await collect(api, { count: 2 }, got).catch((reason: unknown) => reason);
    expect(error).toMatchObject({ code: 'HEADGATE_UNFIT_ANSWER', subject: '@alpha', retryable: true });
    expect(got.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha').slice(0, 6));
    expect(got.at(-1)).toMatchObject({ nextCursor: '', next: { cursor: got[1]?.nextCursor, isUnknown: true } });
    await expect(collect(api, { from: got.at(-1)?.next })).rejects.toMatchObject({ code: 'HEADGATE_UNFIT_ANSWER' });
    expect(server.requests).toHaveLength(4);
  });

  test('consecutive empty pages are counted across restarts, and from 0 again after one that is not', async () => {
    const body = (ids: readonly string[], next: number): Respond => whole(JSON.stringify({ ids, next_cursor: next }));
    const pages = [['1'], [], [], ['2'], [], [], [], []].map((ids, i) => body(ids, i + 10));
    await using server = await scriptedServer({ script: pages, otherwise: body([], 99) });
    await using api = open(server);
    const walk = { maxEmptyPages: 3 };
    const got: FollowerPage[] = [];
    const error: unknown = await collect(api, { ...walk, from: { cursor: '9', empty: 2 } }, got).catch((reason: unknown) => reason);
    expect(got.map(({ ids }) => ids.length)).toEqual([1, 0, 0, 1, 0, 0, 0]);
    expect(error).toMatchObject({
      code: 'HEADGATE_EMPTY_PAGES',
      retryable: true,
      subject: '@alpha',
      message:
        '@alpha: page 7 was empty, like the 2 pages before it, and returned a new cursor. ' +
        'To continue, resume after it, or allow more empty pages (maxEmptyPages).',
    });
    const { next } = got.at(-1) ?? {};
    expect(next).toMatchObject({ cursor: '16' });
    await expect(collect(api, { ...walk, from: next })).rejects.toMatchObject({ code: 'HEADGATE_EMPTY_PAGES' });
    expect(server.requests).toHaveLength(7);
    await expect(collect(api, { ...walk, from: { cursor: '16', empty: 2 } })).rejects.toMatchObject({ code: 'HEADGATE_EMPTY_PAGES' });
    expect(server.requests).toHaveLength(8);
  });

  test("a service's wrong clock, corrected later, is followed each time, and reported", async () => {
    const keys = { consumerKey: 'consumer-key', consumerSecret: 'consumer-secret', token: 'token-1', tokenSecret: 'token-secret' };
    await using server = await startFollowers({
      users: { alpha: { followers: 8 } },
      credentials: [{ name: 'user', oauth1: keys }],
      faults: [{ name: 'clock-skew', at: 1, times: 3, minutes: -20 }],
    });
    const reasons: (string | undefined)[] = [];
    await using api = open(server, {
      credentials: [{ name: 'user', signer: oauth1(keys) }],
      onAttempt: ({ reason }) => reasons.push(reason),
    });
    const pages = await collect(api, { count: 2 });
    expect(pages.flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
    expect(reasons).toEqual([
      expect.stringMatching(/^user: the service's clock is 1,[12]\d\d s behind ours; corrected$/),
      undefined,
      undefined,
      expect.stringMatching(/^user: the service's clock is [012] s (behind|ahead of) ours; corrected$/),
      undefined,
      undefined,
    ]);
  });
});

test.each(['problem', 'text', 'empty'] as const)(
  'a wrong clock is seen in a refusal without a code (%s), and corrected',
  async (errorFormat) => {
    const keys = { consumerKey: 'consumer-key', consumerSecret: 'consumer-secret', token: 'token-1', tokenSecret: 'token-secret' };
    await using server = await startFollowers({
      users: { alpha: { followers: 3 } },
      credentials: [{ name: 'user', oauth1: keys }],
      faults: [{ name: 'clock-skew', minutes: 60 }],
      errorFormat,
    });
    const reasons: (string | undefined)[] = [];
    await using api = open(server, {
      credentials: [{ name: 'user', signer: oauth1(keys) }],
      onAttempt: ({ reason }) => reasons.push(reason),
    });
    expect((await collect(api, {})).flatMap(({ ids }) => ids)).toEqual(server.followersOf('alpha'));
    expect(reasons).toEqual([expect.stringMatching(/^user: the service's clock is 3,[56]\d\d s ahead of ours; corrected$/), undefined]);
  },
);

test('wrong keys on a machine with a wrong clock end with what is known of both', async () => {
  const keys = { consumerKey: 'consumer-key', consumerSecret: 'consumer-secret' };
  await using server = await startFollowers({
    credentials: [{ name: 'user', oauth1: keys }],
    faults: [{ name: 'clock-skew', minutes: 60 }],
  });
  await using api = open(server, { credentials: [{ name: 'user', signer: oauth1({ ...keys, consumerSecret: 'another' }) }] });
  await expect(collect(api, {})).rejects.toMatchObject({
    code: 'HEADGATE_AUTHENTICATION_FAILED',
    message: expect.stringMatching(
      /^user: the service doesn't accept it \(401 .*\)\. Check its keys and tokens\. The service's clock is 3,[56]\d\d s ahead of ours in its last response, and 3 corrections in a row didn't help\.$/,
    ) as string,
  });
  expect(server.requests).toHaveLength(4);
});

test('a signal ends a walk from outside, with its reason, and the request in flight', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 10 } }, faults: [{ name: 'hang', at: 2 }] });
  await using api = open(server);
  const abort = new AbortController();
  const left = new Error('no longer wanted');
  const seen: number[] = [];
  const walked = (async () => {
    for await (const { page } of api.pages({ screenName: 'alpha', count: 4, signal: abort.signal })) seen.push(page);
  })();
  await expect.poll(() => server.requests.length).toBe(2);
  abort.abort(left);
  await expect(walked).rejects.toBe(left);
  expect(seen).toEqual([1]);
  expect(api.gauges().queries).toEqual([]);
});

test('a sink that never finishes: no more requests than it has capacity for', async () => {
  await using server = await startFollowers({ users: { alpha: { followers: 60_000 } } });
  await using api = open(server);
  const subscription = api
    .pages({ screenName: 'alpha' })
    .drain(() => NEVER, { maxOutstanding: 20_000 })
    .subscribe();
  await expect.poll(() => server.requests.length).toBe(4);
  await expect.poll(() => api.gauges().queries).toMatchObject([{ subject: '@alpha', state: 'queued', for: 'downstream' }]);
  expect(server.requests).toHaveLength(4);
  subscription.unsubscribe();
});

describe('one bad user', () => {
  test.each([
    {
      user: 'carol',
      state: { protected: true },
      code: 'HEADGATE_USER_PROTECTED',
      words: '@carol: the account is protected (401 "Not authorized.")',
    },
    { user: 'nobody', state: undefined, code: 'HEADGATE_USER_NOT_FOUND', words: '@nobody: there is no such user (404' },
  ])('$code', async ({ user, state, code, words }) => {
    await using server = await startFollowers({
      users: { alpha: { followers: 3 }, ...(state && { [user]: { followers: 3, ...state } }) },
    });
    await using api = open(server);
    const error: unknown = await collect(api, { screenName: user }).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(SourceError);
    expect(error).toMatchObject({ code, subject: `@${user}`, credential: 'app', retryable: false });
    expect(String(error)).toContain(words);
    // The error ends only this walk: the credential is still used.
    expect(await collect(api, {})).toHaveLength(1);
  });
});

describe('options', () => {
  test.each([
    [{}, 'exactly one of userId and screenName, got neither'],
    [{ userId: '1', screenName: 'alpha' }, 'exactly one of userId and screenName, got both'],
    [{ userId: '1x' }, 'userId must be'],
    [{ userId: 12 }, 'userId must be a string of digits'],
    [{ screenName: '@alpha' }, 'screenName must be'],
    [{ screenName: 'alpha', cursor: 'next' }, 'cursor must be'],
    [{ screenName: 'alpha', count: 0 }, 'count must be'],
    [{ screenName: 'alpha', count: 5_001 }, 'count must be'],
    [{ screenName: 'alpha', count: 1.5 }, 'count must be'],
    [{ screenName: 'alpha', from: { cursor: 12 } }, 'cursor must be'],
    [{ screenName: 'alpha', maxEmptyPages: 0 }, 'maxEmptyPages must be'],
  ])('%j is refused before a call is spent', async (given, words) => {
    await using server = await startFollowers();
    await using api = open(server);
    expect(() => api.pages(given as never)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_INVALID_OPTION', message: expect.stringContaining(words) }),
    );
    expect(server.requests).toHaveLength(0);
  });
});

function open(server: { readonly url: string }, options: Partial<SourceOptions> = {}): Followers {
  return followers({
    baseUrl: server.url,
    credentials: [{ name: 'app', signer: bearer('token-1') }],
    random: () => 0,
    env: {},
    ...options,
  });
}

/** Creates a clock on which a timeout of one minute takes only 500 ms in the nth attempt. */
function givesUp(nth: number): Clock {
  const clock = systemClock();
  let attempts = 0;
  const isOver = (delayMs: number): boolean => delayMs === MINUTE_MS && (attempts += 1) === nth;
  return { ...clock, schedule: (delayMs, callback) => clock.schedule(isOver(delayMs) ? 500 : delayMs, callback) };
}

async function collect(api: Followers, options: Record<string, unknown>, into: FollowerPage[] = []): Promise<FollowerPage[]> {
  const credits = creditPool({ max: 5_000 });
  const reader = api.pages({ screenName: 'alpha', ...options }).reader({ credits, signal: new AbortController().signal });
  for (let read = await reader.read(); read !== undefined; read = await reader.read()) {
    for (const { value, credit } of read) {
      into.push(value);
      credit.release();
    }
  }
  expect(credits.outstanding).toBe(0);
  return into;
}

test('walks take turns where budget is short, and gauges show what each waits for', async () => {
  const users = { big: { followers: 400, pageSize: 10 }, small: { followers: 400, pageSize: 10 } };
  await using server = await startFollowers({ users, window: { kind: 'rolling', limit: 1, windowMs: 20 } });
  await using api = followers({
    baseUrl: server.url,
    credentials: [{ name: 'app', signer: bearer('token') }],
    limit: { requests: 1, windowMs: 20 },
  });
  const waits = new Set<string>();
  const read = async (screenName: string, most: number): Promise<void> => {
    let pages = 0;
    for await (const _ of api.pages({ screenName, count: 10 })) {
      for (const query of api.gauges().queries) if (query.state === 'queued') waits.add(`${query.subject} ${query.for}`);
      if ((pages += 1) >= most) break;
    }
  };
  await Promise.all([read('big', 16), read('small', 16)]);
  const first = server.requests.slice(0, 24).filter(({ user }) => user === 'big').length;
  expect([11, 12, 13]).toContain(first);
  expect(waits).toEqual(new Set(['@big budget', '@small budget']));
});
