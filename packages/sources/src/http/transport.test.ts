import { http, HttpResponse } from 'msw';
import { setupServer } from 'msw/node';
import { Agent, MockAgent } from 'undici';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defineSource } from '../define-source.ts';
import { credential, idle, MINUTE_MS, ok, play, thrown, toy } from '../scene.fixture.ts';
import { compressed, reset } from '../testing/hostile-responses.fixture.ts';
import { hang, whole } from '../testing/responses.ts';
import type { Respond } from '../testing/scripted-server.ts';

const BASE = 'https://api.example.com';

describe("a MockAgent of undici's", () => {
  function mocked() {
    const agent = new MockAgent();
    agent.disableNetConnect();
    onTestFinished(() => agent.close());
    return { agent, at: agent.get(BASE) };
  }

  test('answers in place of the service: the request is signed, counted and read as ever', async () => {
    const { agent, at } = mocked();
    const headers = { authorization: 'Bearer token-of-a' };
    at.intercept({ path: '/v1/x', method: 'GET', headers }).reply(200, '"good"', {
      headers: { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '30' },
    });
    const scene = await play([], { dispatcher: agent, baseUrl: `${BASE}/v1`, limit: { requests: 10, windowMs: MINUTE_MS } });
    expect((await scene.query()).value).toBe('good');
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 7 }]);
    expect(scene.server.requests).toHaveLength(0);
  });

  test('that fails is called again; one that knows nothing of the request ends it', async () => {
    const { agent, at } = mocked();
    at.intercept({ path: '/x' }).replyWithError(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
    at.intercept({ path: '/x' }).reply(200, '"good"');
    const scene = await play([], { dispatcher: agent, baseUrl: BASE });
    expect((await scene.drive(scene.query(), 250)).value).toBe('good');
    await expect(scene.query()).rejects.toMatchObject({
      code: 'HEADGATE_INVALID_REQUEST',
      message: expect.stringContaining("can't be sent"),
    });
  });

  test('is not closed with the source', async () => {
    const { agent, at } = mocked();
    for (const value of ['"first"', '"second"']) {
      at.intercept({ path: '/x' }).reply(200, value);
      const scene = await play([], { dispatcher: agent, baseUrl: BASE });
      expect(JSON.stringify((await scene.query()).value)).toBe(value);
      await scene.source.close();
    }
  });
});

describe('a fetch', () => {
  const viaFetch: typeof fetch = (...request) => fetch(...request);

  test('that MSW intercepts answers in place of the service', async () => {
    const seen: Request[] = [];
    const server = setupServer(
      http.post(`${BASE}/x`, ({ request }) => {
        seen.push(request);
        return HttpResponse.json('good', { headers: { 'x-ratelimit-remaining': '3', 'x-ratelimit-reset': '30' } });
      }),
    );
    server.listen();
    onTestFinished(() => server.close());
    const scene = await play(
      [],
      { fetch: viaFetch, baseUrl: BASE, limit: { requests: 10, windowMs: MINUTE_MS } },
      { toRequest: (path) => ({ method: 'POST', path, query: { q: "it's" }, body: 'query' }) },
    );
    expect((await scene.query()).value).toBe('good');
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 7 }]);
    expect(seen.map(({ method, url, headers }) => [method, url, headers.get('authorization')])).toEqual([
      ['POST', `${BASE}/x?q=it%27s`, 'Bearer token-of-a'],
    ]);
    expect(await seen[0]?.text()).toBe('query');
  });

  test.each([
    ['fetch', { fetch: viaFetch }],
    ['the built-in connections', {}],
  ])('passes on the length of a body that it does not decode, with %s', async (_, how) => {
    const head: Respond = (__, response) => response.writeHead(200, { 'content-length': '1234', 'content-encoding': 'gzip' }).end();
    const plain: Respond = (__, response) => response.writeHead(200, { 'content-length': '6' }).end('"good"');
    const lengths: (string | undefined)[] = [];
    const scene = await play([head, plain, compressed('"good"', 'gzip')], how, {
      toRequest: (path) => ({ method: path === '/head' ? 'HEAD' : 'GET', path }),
      classify({ headers }) {
        lengths.push(headers['content-length']);
        return { kind: 'ok', value: '' };
      },
    });
    for (const path of ['/head', '/x', '/packed']) await scene.query(path);
    expect(lengths).toEqual(['1234', '6', undefined]);
  });

  test('is read under the limits: compressed, cut off, too large, redirected', async () => {
    const big = whole(JSON.stringify('x'.repeat(2_000)));
    const scene = await play([ok, reset, ok, big, (_, response) => response.writeHead(302, { location: '/y' }).end()], {
      fetch: viaFetch,
      maxBodyBytes: 1_000,
      retryForMs: 60_000,
    });
    (await scene.query()).credit.release();
    (await scene.drive(scene.query(), 250)).credit.release();
    await expect(scene.drive(scene.query(), 250)).rejects.toMatchObject({ code: 'HEADGATE_REDIRECTED' });
    expect(scene.events.map(({ outcome, reason = '' }) => `${outcome} ${reason}`)).toEqual([
      'ok ',
      expect.stringMatching(/^transient the connection was lost before a response arrived/),
      'ok ',
      expect.stringMatching(/^transient .*exceeds the limit of 1,000 bytes/),
      expect.stringMatching(/^fatal .*redirects/),
    ]);
  });

  test('that heeds no signal is read no further once its request is over', async () => {
    let isCancelled = false;
    const body = new ReadableStream({
      async pull(stream) {
        await idle();
        stream.enqueue(new Uint8Array(1));
      },
      cancel() {
        isCancelled = true;
      },
    });
    const scene = await play([], { fetch: () => Promise.resolve(new Response(body)) });
    const abort = new AbortController();
    const requested = scene.query('/x', abort.signal);
    await idle();
    abort.abort(new Error('enough'));
    await expect(requested).rejects.toThrow('enough');
    await expect.poll(() => isCancelled).toBe(true);
  });

  test('is aborted with its request, whose token is not back before the service must have counted it', async () => {
    const scene = await play([hang], { fetch: viaFetch, timeoutMs: 30_000, limit: { requests: 1, windowMs: MINUTE_MS } });
    const abort = new AbortController();
    const requested = scene.query('/x', abort.signal);
    await scene.requests(1);
    abort.abort(new Error('enough'));
    await expect(requested).rejects.toThrow('enough');
    await expect.poll(() => scene.server.requests[0]?.socket.destroyed).toBe(true);
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 1 }]);
  });
});

test.each([
  [{ dispatcher: new Agent(), fetch: globalThis.fetch }, 'fetch must be omitted if there is a dispatcher'],
  [{ dispatcher: new Agent(), proxy: 'http://127.0.0.1:3128' }, 'proxy must be omitted'],
  [{ fetch: globalThis.fetch, ca: 'PEM' }, 'ca must be omitted'],
])('two ways of sending are refused (%#)', (given, words) => {
  const make = defineSource<string, string>(toy([]));
  const error = thrown(() => make({ baseUrl: BASE, credentials: [credential('a')], limit: { requests: 1, windowMs: 1 }, ...given }));
  expect(String(error)).toContain(words);
});
