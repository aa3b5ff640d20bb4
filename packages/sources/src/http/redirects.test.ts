import { apiKey } from '@headgate/auth';
import { expect, test } from 'vitest';
import { MINUTE_MS, ok, play, said } from '../scene.fixture.ts';
import { redirect } from '../testing/hostile-responses.fixture.ts';
import type { Respond } from '../testing/scripted-server.ts';

const follow = 'same-origin';
const moved =
  (status: number, location: string): Respond =>
  (_, response) =>
    response.writeHead(status, { location }).end();

test('a redirect under the base address is followed: each hop takes a token, and carries the credential', async () => {
  const scene = await play([moved(301, '/v1/repositories/7?page=2'), moved(308, '8'), ok], { basePath: '/v1' }, { follow });
  expect((await scene.query('/repos/a/b')).value).toBe('good');
  expect(scene.server.requests.map(({ url, headers }) => `${url} ${headers.authorization}`)).toEqual([
    '/v1/repos/a/b Bearer token-of-a',
    '/v1/repositories/7?page=2 Bearer token-of-a',
    '/v1/repositories/8 Bearer token-of-a',
  ]);
  expect(scene.source.gauges().budgets).toMatchObject([{ used: 3 }]);
  expect(scene.events.map(({ reason }) => reason)).toEqual(['redirected (301), and followed', 'redirected (308), and followed', undefined]);
});

test('a hop waits for its budget like any request', async () => {
  const scene = await play([moved(302, '/y'), ok], { limit: { requests: 1, windowMs: MINUTE_MS } }, { follow });
  const requested = scene.query();
  await scene.requests(1);
  await expect.poll(() => scene.source.gauges().queries).toMatchObject([{ subject: '/x', state: 'queued', for: 'budget' }]);
  await scene.clock.advance(MINUTE_MS + 100);
  await requested;
  expect(scene.server.requests.map(({ url }) => url)).toEqual(['/x', '/y']);
});

test.each([
  ['https://elsewhere.example/?token=hidden', 'https://elsewhere.example'],
  ['//elsewhere.example/v1/', 'http://elsewhere.example'],
  ['/login?token=hidden', 'http://127.0.0.1'],
  ['', 'nowhere'],
])('a redirect to %j is not followed: nothing is sent there', async (location, shown) => {
  const scene = await play([moved(302, location)], { basePath: '/v1' }, { follow });
  const error: unknown = await scene.query().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'HEADGATE_REDIRECTED', retryable: false, status: 302 });
  expect(String(error)).toContain(`redirects to ${shown}`);
  expect(String(error)).not.toContain('hidden');
  expect(scene.server.requests).toHaveLength(1);
});

test.each([
  ['https://elsewhere.example/v2/items/?token=hidden', 'https://elsewhere.example/v2/items/'],
  ['/x/', 'http://127.0.0.1:PORT/x/'],
  ['items/', 'http://127.0.0.1:PORT/items/'],
])('a redirect to %j is named with its whole path by a source that follows none', async (location, shown) => {
  const scene = await play([moved(301, location)]);
  const error: unknown = await scene.query().catch((reason: unknown) => reason);
  const address = shown.replace('PORT', new URL(scene.server.url).port);
  expect(error).toMatchObject({
    code: 'HEADGATE_REDIRECTED',
    message: expect.stringContaining(`redirects to ${address} (301), `) as string,
  });
  expect(String(error)).not.toContain('hidden');
  expect(scene.server.requests).toHaveLength(1);
});

test('five redirects of a request are followed, and the sixth ends the request', async () => {
  const scene = await play([], { otherwise: redirect('/round?token=hidden') }, { follow });
  const error: unknown = await scene.query().catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'HEADGATE_REDIRECTED', message: expect.stringContaining('redirected more than 5 times') });
  expect(String(error)).not.toContain('hidden');
  expect(scene.server.requests).toHaveLength(6);
});

test.each([
  [301, 'POST', 'GET'],
  [302, 'POST', 'GET'],
  [303, 'PUT', 'GET'],
  [307, 'POST', 'POST'],
  [308, 'POST', 'POST'],
  [301, 'PUT', 'PUT'],
  [303, 'HEAD', 'HEAD'],
] as const)('after %d a %s is a %s', async (status, method, next) => {
  const body = method === 'HEAD' ? {} : { body: 'query', headers: { 'Content-Type': 'text/plain', 'x-own': '1' } };
  const scene = await play(
    [moved(status, '/y')],
    {},
    { follow, toRequest: (path) => ({ method, path, ...body }), classify: () => ({ kind: 'ok', value: '' }) },
  );
  await scene.query();
  const [, second] = scene.server.requests;
  expect(second?.method).toBe(next);
  expect(second?.headers['content-type']).toBe(next === 'GET' || method === 'HEAD' ? undefined : 'text/plain');
  expect(second?.headers['x-own']).toBe(method === 'HEAD' ? undefined : '1');
});

test('an error after a redirect is retried there; the next request begins at its own address', async () => {
  const scene = await play([moved(301, '/y'), said('transient'), ok, ok], {}, { follow });
  (await scene.drive(scene.query(), 100)).credit.release();
  await scene.query();
  expect(scene.server.requests.map(({ url }) => url)).toEqual(['/x', '/y', '/y', '/x']);
});

test('a key in the query appears there once, though the Location repeats it', async () => {
  const signer = apiKey('key', { query: 'api_key' });
  const scene = await play([moved(301, '/y?api_key=key&page=2'), ok], { credentials: [{ name: 'a', signer }] }, { follow });
  await scene.query();
  expect(scene.server.requests[1]?.url).toBe('/y?page=2&api_key=key');
});
