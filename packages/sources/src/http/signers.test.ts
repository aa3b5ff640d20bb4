import { runInNewContext } from 'node:vm';
import { apiKey, bearer, type Signed, type Signer } from '@headgate/auth';
import { describe, expect, test } from 'vitest';
import { credential, play, said } from '../scene.fixture.ts';
import type { SourceRequest } from '../source-definition.ts';
import { SourceError } from '../source-error.ts';
import { whole } from '../testing/responses.ts';
import type { Respond } from '../testing/scripted-server.ts';

const KEY = 'sEcr3t-key-0123456789';
const names = (signer: Signer) => [{ name: 'a', signer }];
const refusal = whole('{"kind":"unauthorized"}', 401);
const wants =
  (token: string): Respond =>
  (request, response) =>
    (request.headers.authorization === `Bearer ${token}` ? whole('"good"') : refusal)(request, response);

describe('a signer', () => {
  test('sends any header, and query parameters that replace the request’s own', async () => {
    const keyed = await play([], { credentials: names(apiKey(KEY, { header: 'X-Api-Key' })) });
    await keyed.query();
    expect(keyed.server.requests[0]?.headers).toMatchObject({ 'x-api-key': KEY });
    expect(keyed.server.requests[0]?.headers).not.toHaveProperty('authorization');
    const requested = [{ path: '/x', query: { api_key: 'old', q: 'a b' } }, { url: '/x?q=a%20b&api%5Fkey=old&page=2' }, { path: '/x' }];
    const scene = await play(
      [],
      { credentials: names(apiKey('a&b', { query: 'api_key' })) },
      { toRequest: (i) => requested[Number(i)] ?? { path: '/' } },
    );
    for (const i of [0, 1, 2]) (await scene.query(String(i))).credit.release();
    expect(scene.server.requests.map(({ url }) => url)).toEqual([
      '/x?q=a%20b&api_key=a%26b',
      '/x?q=a%20b&page=2&api_key=a%26b',
      '/x?api_key=a%26b',
    ]);
  });

  test('puts its key into the body, JSON or a form, and refuses only the requests that have neither', async () => {
    const json = { 'content-type': 'application/json' };
    const requested: SourceRequest[] = [
      { method: 'POST', path: '/', headers: json, body: '{"q":"a","api_key":"old"}' },
      { method: 'POST', path: '/', headers: json, body: '\n{"id":9007199254740993,"cost":1.0,"of":{"ids":[12345678901234567890]}}' },
      { method: 'POST', path: '/', headers: { 'content-type': 'application/x-www-form-urlencoded' }, body: 'q=a&api_key=old' },
      { path: '/' },
      { method: 'POST', path: '/', headers: { 'content-type': 'application/graphql' }, body: '{ viewer { login } }' },
      { method: 'POST', path: '/', headers: json, body: '[{"q":"a"}]' },
      { method: 'POST', path: '/', headers: json, body: '1.0' },
      { method: 'POST', path: '/', headers: json, body: `{"q":${'['.repeat(500)}${']'.repeat(500)}}` },
    ];
    const bodies: string[] = [];
    const reads: Respond = (request, response) => {
      request.setEncoding('utf8').on('data', (text: string) => bodies.push(text));
      request.on('end', () => whole('"good"')(request, response));
    };
    const scene = await play(
      [],
      { credentials: names(apiKey('a&b', { body: 'api_key' })), otherwise: reads },
      { toRequest: (i) => requested[Number(i)] ?? { path: '/' } },
    );
    for (const i of [3, 4, 5, 6, 7]) {
      await expect(scene.query(String(i))).rejects.toMatchObject({
        code: 'HEADGATE_UNSIGNABLE_REQUEST',
        endsSource: false,
        message: expect.stringMatching(
          /^\d: the request couldn't be signed\. The API key goes into the body, but the body isn't /,
        ) as string,
      });
    }
    for (const i of [0, 1, 2]) (await scene.query(String(i))).credit.release();
    expect(bodies).toEqual([
      '{"q":"a","api_key":"a&b"}',
      '{"id":9007199254740993,"cost":1.0,"of":{"ids":[12345678901234567890]},"api_key":"a&b"}',
      'q=a&api_key=a%26b',
    ]);
  });

  test.each([
    ['a header', apiKey(KEY, { header: 'x-api-key' })],
    ['the query', apiKey(KEY, { query: 'key' })],
    ['both', { sign: () => ({ headers: { 'x-id': 'client-id-0123456789' }, query: { sig: KEY } }) } satisfies Signer],
  ])('whose secret is in %s does not show in what the service says about it', async (_, signer) => {
    const scene = await play(
      [whole('"x"')],
      { credentials: names(signer) },
      {
        classify: (_answer, { redact }) => ({
          kind: 'fatal',
          error: new SourceError({ code: 'HEADGATE_TOY', message: `no ${KEY} for ${redact(KEY)}`, retryable: false, service: 'toy' }),
        }),
      },
    );
    await expect(scene.query()).rejects.toThrow(/^no \*\*\* for \*\*\*$/);
  });

  test('may wait for its secret; the request that goes meanwhile is another', async () => {
    let give = (_token: string): void => undefined;
    const signer = bearer(
      () =>
        new Promise<string>((resolve) => {
          give = resolve;
        }),
    );
    const scene = await play([], { credentials: names(signer) });
    const requested = Promise.all([scene.query(), scene.query()]);
    await scene.clock.settle();
    expect(scene.server.requests).toHaveLength(0);
    give('token');
    await requested;
    expect(scene.server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token', 'Bearer token']);
  });

  test('that returns nothing is waited for no longer than an attempt may take, and called again', async () => {
    const signals: AbortSignal[] = [];
    const signer = bearer(({ signal }) => {
      signals.push(signal);
      return signals.length === 1 ? new Promise<string>(() => undefined) : 'token';
    });
    const scene = await play([], { credentials: names(signer), timeoutMs: 5_000 });
    const requested = scene.query();
    await scene.clock.advance(4_999);
    expect(scene.events).toHaveLength(0);
    await scene.clock.advance(1);
    await scene.drive(requested, 250);
    expect(scene.events).toMatchObject([
      { outcome: 'transient', reason: 'a: its signer returned nothing within 5,000 ms (timeout)' },
      { outcome: 'ok' },
    ]);
    expect(signals[0]?.aborted).toBe(true);
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 1 }]);
  });

  test('is abandoned by an aborted request: nothing is held, and nothing sent', async () => {
    const abort = new AbortController();
    const scene = await play([], { credentials: names(bearer(() => new Promise<string>(() => undefined))) });
    const requested = scene.query('/x', abort.signal);
    await scene.clock.settle();
    abort.abort(new Error('enough'));
    await expect(requested).rejects.toThrow('enough');
    expect(scene.server.requests).toHaveLength(0);
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 0 }]);
  });
});

describe('a token that the service refuses', () => {
  test('is renewed once for requests that were refused together, and they continue with the new one', async () => {
    const told: boolean[] = [];
    let token = 'old-token';
    const signer = bearer(async ({ refused }) => {
      told.push(refused);
      await Promise.resolve();
      if (refused) token = 'new-token';
      return token;
    });
    const scene = await play([], { credentials: names(signer), otherwise: wants('new-token') });
    const values = await Promise.all([scene.query(), scene.query()]);
    expect(values.map(({ value }) => value)).toEqual(['good', 'good']);
    expect(told.filter(Boolean)).toHaveLength(1);
    expect(scene.events.map(({ outcome }) => outcome).toSorted()).toEqual(['ok', 'ok', 'unauthorized', 'unauthorized']);
    expect(scene.events[0]?.reason).toContain('Headgate reads its secret again.');
  });

  test('may be renewed again after the next response, because an hour later it has expired again', async () => {
    let tokens = 0;
    const signer = bearer(({ refused }) => `token-${(tokens += Number(refused))}`);
    const scene = await play([wants('token-0'), wants('token-1'), wants('token-1'), wants('token-2'), wants('token-2')], {
      credentials: names(signer),
    });
    for (let i = 0; i < 3; i += 1) (await scene.query()).credit.release();
    expect(scene.events.map(({ outcome }) => outcome)).toEqual(['ok', 'unauthorized', 'ok', 'unauthorized', 'ok']);
  });

  test('ends its credential where the signer has no other: no request is spent on the same one again', async () => {
    const scene = await play([refusal], { credentials: names(bearer(() => 'token')) });
    await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_TOY', endsSource: true });
    expect(scene.server.requests).toHaveLength(1);
  });

  test('ends its credential where the new one is refused, too', async () => {
    let tokens = 0;
    const scene = await play([], { credentials: names(bearer(() => `token-${(tokens += 1)}`)), otherwise: refusal });
    await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_TOY', endsSource: true });
    expect(scene.server.requests).toHaveLength(2);
  });

  test('that is written down ends its credential at once', async () => {
    const scene = await play([said('unauthorized')], { credentials: [credential('a'), credential('b')] });
    await scene.query();
    expect(scene.events.map(({ credential: name, outcome }) => `${name} ${outcome}`)).toEqual(['a unauthorized', 'b ok']);
  });
});

test('a signer that gives the promise of another library is waited for: nothing goes out unsigned', async () => {
  const authorization = 'Bearer later';
  // A promise from another realm isn't an instance of this realm's Promise.
  const later = runInNewContext('Promise.resolve({ authorization })', { authorization }) as Promise<Signed>;
  const scene = await play([], { credentials: [{ name: 'a', signer: { sign: () => later } }] });
  await scene.query();
  expect(scene.server.requests).toMatchObject([{ headers: { authorization } }]);
});

test('a signer can sign the headers of the request, as they are sent', async () => {
  const signed = ['accept', 'content-type', 'idempotency-key', 'user-agent', 'x-amz-target'];
  const signer: Signer = {
    sign: ({ headers = {} }) => ({ authorization: signed.map((name) => `${name}=${headers[name]}`).join('; ') }),
  };
  const toRequest = (path: string) =>
    ({
      method: 'POST',
      path,
      headers: { 'X-Amz-Target': 'Orders.List', 'Idempotency-Key': '1', 'Content-Type': 'application/x-amz-json-1.0' },
      body: '{}',
    }) as const;
  const scene = await play([], { credentials: [{ name: 'a', signer }], userAgent: 'tester/1' }, { toRequest });
  await scene.query('/orders');
  const headers = scene.server.requests[0]?.headers;
  expect(headers?.authorization).toBe(signed.map((name) => `${name}=${String(headers?.[name])}`).join('; '));
  expect(headers?.authorization).toContain('x-amz-target=Orders.List');
});
