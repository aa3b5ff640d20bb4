import { createHmac } from 'node:crypto';
import { inspect } from 'node:util';

import { afterEach, expect, test } from 'vitest';

import { startFollowers } from './followers-server.ts';
import type { FollowersSandbox, FollowersSandboxOptions } from './followers-server.ts';
import { signatureBaseString } from './oauth-verify.ts';

const roomy = { limit: 1_000_000 };
let running: FollowersSandbox | undefined;

afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: FollowersSandboxOptions): Promise<FollowersSandbox> {
  running = await startFollowers(options);
  return running;
}

interface Got {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

async function get(query: string, headers: Record<string, string> = { authorization: 'Bearer secret-a' }): Promise<Got> {
  const response = await fetch(`${running?.url ?? ''}/1.1/followers/ids.json${query}`, { headers });
  return { status: response.status, headers: response.headers, text: await response.text() };
}

function field(text: string, name: string): string {
  return new RegExp(`"${name}":"?(-?\\d+)`, 'u').exec(text)?.[1] ?? '';
}

function idsOf(text: string): string[] {
  return (/"ids":\[([^\]]*)\]/u.exec(text)?.[1] ?? '').split(',').flatMap((id) => id.replaceAll('"', '') || []);
}

async function walk(user: string, extra = '', toward = 'next_cursor', from = '-1'): Promise<{ pages: string[][]; cursors: string[] }> {
  const pages: string[][] = [];
  const cursors: string[] = [];
  for (let cursor = from; cursor !== '0' && pages.length < 1000;) {
    cursors.push(cursor);
    const { text } = await get(`?screen_name=${user}&cursor=${cursor}${extra}`);
    pages.push(idsOf(text));
    cursor = field(text, toward);
  }
  return { pages, cursors };
}

test('a walk gets every ID in order, in pages of the requested size, by opaque cursors above 2^60', async () => {
  const sandbox = await start({ users: { Alpha: { followers: 12_345 } }, window: roomy });
  const { pages, cursors } = await walk('aLPHA', '&count=1000');
  expect(pages.map((page) => page.length)).toEqual([...Array.from({ length: 12 }, () => 1000), 345]);
  expect(pages.flat()).toEqual(sandbox.followersOf('alpha'));
  expect(cursors.slice(1).every((cursor) => BigInt(cursor) > 2n ** 60n)).toBe(true);
  expect(sandbox.requests.map(({ cursor }) => cursor)).toEqual(cursors);
  expect(sandbox.requests[0]).toMatchObject({ number: 1, method: 'GET', user: 'aLPHA', credential: 'bearer 1', status: 200 });
});

test('walking back by previous cursors gives the same pages the other way round', async () => {
  await start({ users: { alpha: { followers: 40, pageSize: 10 } }, window: roomy });
  const { pages, cursors } = await walk('alpha');
  const last = await get(`?screen_name=alpha&cursor=${cursors.at(-1) ?? ''}`);
  const previous = field(last.text, 'previous_cursor');
  expect(BigInt(previous)).toBeLessThan(-(2n ** 60n));
  const back = await walk('alpha', '', 'previous_cursor', previous);
  expect(back.pages).toEqual(pages.slice(0, -1).toReversed());
});

test('an account of ten million answers its first page at once, and one without followers an empty last page', async () => {
  await start({ users: { vast: { followers: 10_000_000 }, none: {} }, window: roomy });
  const { text } = await get('?screen_name=vast');
  expect(idsOf(text).length).toBe(5000);
  expect((await get('?screen_name=none')).text).toBe(
    '{"ids":[],"next_cursor":0,"next_cursor_str":"0","previous_cursor":0,"previous_cursor_str":"0","total_count":null}',
  );
});

test('IDs are spelled as requested, or in any way', async () => {
  const users = { alpha: { followers: ['9007199254740993', '12'] } };
  const spelled = async (options: FollowersSandboxOptions, query: string): Promise<string> => {
    await running?.close();
    await start({ users, ...options });
    return (await get(`?screen_name=alpha${query}`)).text.split(',"next_cursor"')[0] ?? '';
  };
  const strings = '{"ids":["9007199254740993","12"]';
  const numbers = '{"ids":[9007199254740993,12]';
  expect(await spelled({}, '')).toBe(numbers);
  expect(await spelled({}, '&stringify_ids=TRUE')).toBe(strings);
  expect(await spelled({ idFormat: 'strings' }, '&stringify_ids=false')).toBe(strings);
  expect(await spelled({ idFormat: 'numbers' }, '&stringify_ids=true')).toBe(numbers);
  await running?.close();
  await start({ users: { alpha: { followers: 20 } }, cursorStrings: false });
  expect((await get('?screen_name=alpha&count=10')).text).not.toContain('cursor_str');
});

test('suspended accounts leave short and empty pages in the middle of a walk that loses nothing', async () => {
  const sandbox = await start({ users: { alpha: { followers: 1000, pageSize: 100, suspendedShare: 0.1 } }, window: roomy });
  const { pages } = await walk('alpha');
  expect(pages.length).toBe(10);
  expect(pages[1]).toEqual([]);
  expect(pages[0]?.length).toBeLessThan(100);
  expect(pages.flat()).toEqual(sandbox.followersOf('alpha'));
});

test('a list that shifts under the walk repeats the last id of a page as the first of the next', async () => {
  const sandbox = await start({ users: { alpha: { followers: 60, pageSize: 10, shiftEvery: 2 } }, window: roomy });
  const before = sandbox.followersOf('alpha');
  const { pages } = await walk('alpha');
  const repeats = pages.flatMap((page, index) => (index > 0 && page[0] === pages[index - 1]?.at(-1) ? [index] : []));
  expect(repeats).toEqual([2, 4, 6]);
  expect([...new Set(pages.flat())]).toEqual(before);
  expect(pages.flat().length).toBe(63);
});

test('an account that changes while it is walked keeps its id and its cursors, and others come', async () => {
  const sandbox = await start({ users: { alpha: { followers: 30, pageSize: 10 } }, window: roomy });
  const ids = sandbox.followersOf('alpha');
  const first = await get('?screen_name=alpha');
  const cursor = field(first.text, 'next_cursor');
  sandbox.setUser('Alpha', { followers: 30, protected: true });
  expect((await get(`?screen_name=alpha&cursor=${cursor}`)).status).toBe(401);
  sandbox.setUser('alpha', { followers: 30, pageSize: 5, id: '7' });
  expect(idsOf((await get(`?screen_name=alpha&cursor=${cursor}`)).text)).toEqual(ids.slice(10, 15));
  sandbox.setUser('alpha', { followers: 30, error: 63 });
  expect([(await get('?user_id=7')).status, (await get('?screen_name=beta')).status]).toEqual([403, 404]);
  expect(() => sandbox.setUser('beta', { id: '7' })).toThrow('The user id 7 occurs twice');
  sandbox.setUser('beta', { followers: 3 });
  expect((await walk('beta')).pages).toEqual([sandbox.followersOf('beta')]);
});

test('each credential has its own window, shown in headers, and a refusal is the recorded one', async () => {
  let nowMs = Date.parse('2030-01-01T00:00:10.900Z');
  const sandbox = await start({ window: { limit: 2, windowMs: 60_000 }, now: () => nowMs });
  const headersOf = ({ status, headers }: Got): unknown[] => [
    status,
    headers.get('x-rate-limit-limit'),
    headers.get('x-rate-limit-remaining'),
    headers.get('x-rate-limit-reset'),
    headers.get('date'),
  ];
  const reset = String(Math.floor((nowMs + 60_000) / 1000));
  const date = 'Tue, 01 Jan 2030 00:00:10 GMT';
  expect(headersOf(await get('?screen_name=alpha'))).toEqual([200, '2', '1', reset, date]);
  expect(headersOf(await get('?screen_name=alpha'))).toEqual([200, '2', '0', reset, date]);
  const refused = await get('?screen_name=alpha');
  expect(headersOf(refused)).toEqual([429, '2', '0', reset, date]);
  expect(refused.text).toBe('{"errors":[{"message":"Rate limit exceeded","code":88}]}');
  expect((await get('?screen_name=alpha', { authorization: 'Bearer secret-b' })).status).toBe(200);
  nowMs += 60_000;
  expect((await get('?screen_name=alpha')).status).toBe(200);
  expect(sandbox.requests.map(({ credential, status, at }) => [credential, status, at - nowMs])).toEqual([
    ['bearer 1', 200, -60_000],
    ['bearer 1', 200, -60_000],
    ['bearer 1', 429, -60_000],
    ['bearer 2', 200, -60_000],
    ['bearer 1', 200, 0],
  ]);
});

test.each([
  ['first-request', [200, 200, 429, 200, 200]],
  ['wall-clock', [200, 200, 200, 200, 429]],
  ['rolling', [200, 200, 429, 200, 429]],
] as const)('a %s window counts by the clock it is given', async (kind, statuses) => {
  let nowMs = 0;
  await start({ window: { kind, limit: 2, windowMs: 60_000 }, now: () => nowMs });
  const got: number[] = [];
  for (const atMs of [630_000, 650_000, 689_999, 690_000, 691_000]) {
    nowMs = atMs;
    got.push((await get('?screen_name=alpha')).status);
  }
  expect(got).toEqual(statuses);
});

test.each([
  ['?screen_name=hidden', 401, String.raw`{"request":"\/1.1\/followers\/ids.json","error":"Not authorized."}`],
  ['?screen_name=nobody', 404, '{"errors":[{"code":34,"message":"Sorry, that page does not exist."}]}'],
  ['?user_id=1', 404, '{"errors":[{"code":34,'],
  ['?screen_name=gone', 404, '{"errors":[{"code":50,"message":"User not found."}]}'],
  ['?screen_name=bad', 403, '{"errors":[{"code":63,"message":"User has been suspended."}]}'],
  ['?screen_name=no', 404, '{"errors":[{"code":17,'],
  ['', 400, '{"errors":[{"code":25,'],
  ['?screen_name=open&user_id=5', 400, '{"errors":[{"code":25,'],
  ['?screen_name=open&cursor=7', 400, '{"errors":[{"code":44,"message":"cursor parameter is invalid."}]}'],
  ['?screen_name=open&cursor=x', 400, '{"errors":[{"code":44,"message":"cursor parameter is invalid."}]}'],
  ['?screen_name=open&count=0', 400, '{"errors":[{"code":44,"message":"count parameter is invalid."}]}'],
  ['?user_id=5', 200, '{"ids":[3,2]'],
  ['?screen_name=open&count=9999', 200, '{"ids":[3,2]'],
])('%j is answered with %i', async (query, status, body) => {
  await start({
    users: {
      open: { id: '5', followers: ['3', '2'] },
      hidden: { protected: true },
      gone: { error: 50 },
      bad: { error: 63 },
      no: { error: 17 },
    },
  });
  const got = await get(query);
  expect([got.status, got.text.slice(0, body.length)]).toEqual([status, body]);
  expect(got.headers.get('x-rate-limit-remaining')).toBe('14');
});

test.each([
  ['errors', 'application/json;charset=utf-8', '{"errors":[{"code":34,"message":"Sorry, that page does not exist."}]}'],
  ['problem', 'application/problem+json', '{"title":"Not Found","detail":"Not Found","type":"about:blank","status":404}'],
  ['text', 'text/plain', '404 Not Found'],
  ['empty', 'text/plain', ''],
] as const)('errors have the format %s, and refusals for the limit keep theirs', async (errorFormat, type, body) => {
  await start({ errorFormat, window: { limit: 2 } });
  const got = await get('?screen_name=nobody');
  expect([got.status, got.headers.get('content-type'), got.text]).toEqual([404, type, body]);
  expect((await get('?screen_name=alpha')).text).toContain('"ids"');
  expect((await get('?screen_name=alpha')).text).toBe('{"errors":[{"message":"Rate limit exceeded","code":88}]}');
});

test('a credential with refusedWith gets that error, and only the named credentials see a protected account', async () => {
  await start({
    users: { carol: { followers: ['7'], protected: ['friend'] } },
    credentials: [
      { name: 'bad', bearer: 'bad', refusedWith: 453 },
      { name: 'friend', bearer: 'friend' },
      { name: 'other', bearer: 'other' },
    ],
  });
  const asked = async (token: string): Promise<string> => {
    const { status, text } = await get('?screen_name=carol', { authorization: `Bearer ${token}` });
    return `${status} ${text.slice(0, 24)}`;
  };
  expect(await asked('bad')).toBe('403 {"errors":[{"code":453,"');
  expect(await asked('friend')).toBe('200 {"ids":[7],"next_cursor"');
  expect(await asked('other')).toBe('401 {"request":"\\/1.1\\/follo');
});

test('the fault no-cursor sends null for the next cursor, in both of its fields', async () => {
  await start({ users: { alpha: { followers: 3 } }, faults: [{ name: 'no-cursor', at: 1 }] });
  expect((await get('?screen_name=alpha&count=2')).text).toMatch(/\],"next_cursor":null,"next_cursor_str":null,"previous_cursor":0,/);
  expect((await get('?screen_name=alpha&count=2')).text).toMatch(/"next_cursor":[1-9]/);
});

const consumer = { consumerKey: 'ck', consumerSecret: 'c&s', token: 'tk', tokenSecret: 't s' };

function signed(query: string, change: Record<string, string> = {}, secret = consumer.consumerSecret): Record<string, string> {
  const parameters = {
    oauth_consumer_key: 'ck',
    oauth_token: 'tk',
    oauth_nonce: 'n1',
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: '1900000000',
    oauth_version: '1.0',
    ...change,
  };
  const header = (pairs: Record<string, string>): string =>
    `OAuth ${Object.entries(pairs)
      .map(([name, value]) => `${name}="${encodeURIComponent(value)}"`)
      .join(', ')}`;
  const url = `${running?.url ?? ''}/1.1/followers/ids.json${query}`;
  const base = signatureBaseString({ method: 'GET', url, authorization: header(parameters) }) ?? '';
  const key = `${encodeURIComponent(secret)}&${encodeURIComponent(consumer.tokenSecret)}`;
  return { authorization: header({ ...parameters, oauth_signature: createHmac('sha1', key).update(base).digest('base64') }) };
}

test('OAuth signatures are verified over the request as it came, and a nonce serves once', async () => {
  const sandbox = await start({ credentials: [{ name: 'user', oauth1: consumer }], now: () => 1_900_000_000_000 });
  const query = '?screen_name=alpha&count=10&cursor=-1';
  const outcome = async (headers: Record<string, string>, asked = query): Promise<string> => {
    const { status, text } = await get(asked, headers);
    return `${status} ${field(text, 'code')}`;
  };
  expect(await outcome(signed(query))).toBe('200 ');
  expect(await outcome(signed(query))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n2' }))).toBe('200 ');
  expect(await outcome(signed(query, { oauth_nonce: 'n3' }), `${query}&stringify_ids=true`)).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n4' }, 'wrong'))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n5', oauth_token: 'other' }))).toBe('401 89');
  expect(await outcome(signed(query, { oauth_nonce: 'n6', oauth_consumer_key: 'other' }))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n7', oauth_version: '2.0' }))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n8', oauth_timestamp: '1900000300' }))).toBe('200 ');
  expect(await outcome(signed(query, { oauth_nonce: 'n9', oauth_timestamp: '1900000301' }))).toBe('401 135');
  expect(await outcome(signed(query, { oauth_nonce: 'n10', oauth_timestamp: '1899999699' }))).toBe('401 135');
  // Only authenticated requests count against the window.
  expect((await get(query, signed(query, { oauth_nonce: 'n11' }))).headers.get('x-rate-limit-remaining')).toBe('11');
  expect(sandbox.requests[0]?.credential).toBe('user');
});

test('without credentials, any well-formed OAuth signature is accepted, and each consumer and token is its own credential', async () => {
  const sandbox = await start({ now: () => 1_900_000_000_000 });
  const query = '?screen_name=alpha';
  const outcome = async (headers: Record<string, string>): Promise<string> => {
    const { status, text } = await get(query, headers);
    return `${status} ${field(text, 'code')}`;
  };
  expect(await outcome(signed(query, {}, 'whatever'))).toBe('200 ');
  expect(await outcome(signed(query, { oauth_nonce: 'n2', oauth_token: 'other' }))).toBe('200 ');
  expect(await outcome(signed(query, { oauth_nonce: 'n3' }))).toBe('200 ');
  expect(await get(query)).toMatchObject({ status: 200 });
  expect(sandbox.requests.map(({ credential }) => credential)).toEqual(['oauth 1', 'oauth 2', 'oauth 1', 'bearer 1']);

  expect(await outcome(signed(query, { oauth_nonce: 'n3' }))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n4', oauth_timestamp: '1900000301' }))).toBe('401 135');
  expect(await outcome(signed(query, { oauth_nonce: 'n5', oauth_version: '2.0' }))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n6', oauth_signature_method: 'PLAINTEXT' }))).toBe('401 32');
  expect(await outcome(signed(query, { oauth_nonce: 'n7', oauth_consumer_key: '' }))).toBe('401 32');
  const { authorization = '' } = signed(query, { oauth_nonce: 'n8' });
  expect(await outcome({ authorization: authorization.replace(/oauth_signature=".../u, 'oauth_signature="') })).toBe('401 32');
  expect((await get(query, signed(query, { oauth_nonce: 'n9' }))).headers.get('x-rate-limit-remaining')).toBe('12');
});

test('credentials may be verified beside any bearer token', async () => {
  const credentials = [
    { name: 'user', oauth1: consumer },
    { name: 'bearer 1', bearer: 'secret-a' },
  ];
  const sandbox = await start({ credentials, anyBearer: true, now: () => 1_900_000_000_000 });
  const query = '?screen_name=alpha';
  const status = async (headers: Record<string, string>): Promise<number> => (await get(query, headers)).status;
  expect(await status(signed(query))).toBe(200);
  expect(await status(signed(query, { oauth_nonce: 'n2' }, 'wrong'))).toBe(401);
  for (const token of ['secret-b', 'secret-a']) expect(await status({ authorization: `Bearer ${token}` })).toBe(200);
  expect(sandbox.requests.map(({ credential }) => credential)).toEqual(['user', 'user', 'bearer 2', 'bearer 1']);
});

test('a wrong bearer token is code 89, no Authorization at all code 215, and neither spends a call', async () => {
  await start({ credentials: [{ name: 'app', bearer: 'secret-a' }] });
  expect((await get('?screen_name=alpha', { authorization: 'Bearer other' })).text).toContain('"code":89');
  expect((await get('?screen_name=alpha', {})).text).toBe('{"errors":[{"code":215,"message":"Bad Authentication data."}]}');
  expect((await get('?screen_name=alpha')).headers.get('x-rate-limit-remaining')).toBe('14');
});

test('each 401 names the scheme to authenticate with, as the recorded ones do, and no other error does', async () => {
  await start({
    users: { alpha: {}, hidden: { protected: true }, bad: { error: 63 } },
    credentials: [
      { name: 'app', bearer: 'secret-a' },
      { name: 'user', oauth1: consumer },
    ],
  });
  const challenge = async (...asked: Parameters<typeof get>): Promise<unknown[]> => {
    const { status, headers } = await get(...asked);
    return [status, headers.get('www-authenticate')];
  };
  const oauth = 'OAuth realm="followers"';
  expect(await challenge('?screen_name=hidden')).toEqual([401, oauth]);
  expect(await challenge('?screen_name=alpha', { authorization: 'Bearer other' })).toEqual([401, oauth]);
  expect(await challenge('?screen_name=alpha', signed('?screen_name=alpha', {}, 'wrong'))).toEqual([401, oauth]);
  expect(await challenge('?screen_name=alpha', {})).toEqual([400, null]);
  expect(await challenge('?screen_name=bad')).toEqual([403, null]);
  expect(await challenge('?screen_name=alpha')).toEqual([200, null]);
});

test('a skewed clock shows in date and reset alike, and OAuth timestamps are judged by it', async () => {
  const now = (): number => 1_900_000_000_000;
  const credentials = [
    { name: 'app', bearer: 'secret-a' },
    { name: 'user', oauth1: consumer },
  ];
  const sandbox = await start({ credentials, now, faults: [{ name: 'clock-skew', at: 1, minutes: 10 }] });
  const skewed = await get('?screen_name=alpha');
  expect(Date.parse(skewed.headers.get('date') ?? '')).toBe(1_900_000_600_000);
  expect(skewed.headers.get('x-rate-limit-reset')).toBe('1900001500');
  const refused = await get('?screen_name=alpha', signed('?screen_name=alpha'));
  expect([refused.status, field(refused.text, 'code')]).toEqual([401, '135']);
  const corrected = signed('?screen_name=alpha', { oauth_timestamp: '1900000600' });
  expect((await get('?screen_name=alpha', corrected)).status).toBe(200);
  expect(sandbox.requests.map(({ fault }) => fault)).toEqual(['clock-skew', 'clock-skew', 'clock-skew']);
});

test('no secret shows in the sandbox or its log of requests', async () => {
  const sandbox = await start({ credentials: [{ name: 'app', bearer: 'secret-a' }] });
  await get('?screen_name=alpha&access_token=secret-a&oauth_token=secret-a');
  await get('?screen_name=alpha');
  const shown = inspect(sandbox, { depth: 9, showHidden: true }) + JSON.stringify(sandbox) + JSON.stringify(sandbox.requests);
  expect(shown).toContain('"[secret]"');
  expect(shown).not.toContain('secret-a');
});

test('two servers on one port: the second says which port and what to do', async () => {
  const sandbox = await start({});
  await expect(startFollowers({ port: Number(new URL(sandbox.url).port) })).rejects.toThrow(
    /127\.0\.0\.1:\d+ isn't available \(EADDRINUSE\)/u,
  );
});

test('options that cannot be are refused by name', async () => {
  await expect(startFollowers({ users: { a: {}, A: {} } })).rejects.toThrow('The user A occurs twice');
  await expect(startFollowers({ users: { a: { id: '1' }, b: { id: '1' } } })).rejects.toThrow('The user id 1 occurs twice');
  await expect(startFollowers({ users: { a: { id: 'x' } } })).rejects.toThrow('give digits');
  await expect(startFollowers({ users: { a: { pageSize: 5001 } } })).rejects.toThrow('pageSize is 5001');
  await expect(startFollowers({ window: { limit: 0 } })).rejects.toThrow('window.limit is 0');
  await expect(startFollowers({ latencyMs: -1 })).rejects.toThrow('latencyMs is -1');
  await expect(startFollowers({ port: 70_000 })).rejects.toThrow('port is 70000');
  const twice = [
    { name: 'app', bearer: 'a' },
    { name: 'app', bearer: 'b' },
  ];
  await expect(startFollowers({ credentials: twice })).rejects.toThrow('Two credentials are named "app"');
  const sandbox = await start({});
  expect(() => sandbox.followersOf('beta')).toThrow('There is no user beta');
});
