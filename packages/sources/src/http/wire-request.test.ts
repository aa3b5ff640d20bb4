import type { IncomingMessage } from 'node:http';
import { expect, test } from 'vitest';
import { ok, play } from '../scene.fixture.ts';
import type { SourceRequest } from '../source-definition.ts';

/** Sends the given requests from a source at `<server>/v1`. Returns the requests that the server received. */
async function sent(...requested: readonly ((server: string) => SourceRequest)[]): Promise<readonly IncomingMessage[]> {
  const { server, query } = await under(requested);
  for (const [i] of requested.entries()) (await query(String(i))).credit.release();
  return server.requests;
}

async function under(requested: readonly ((server: string) => SourceRequest)[]) {
  let base = '';
  const scene = await play([], { basePath: '/v1' }, { toRequest: (i) => requested[Number(i)]?.(base) ?? { path: '/none' } });
  base = scene.server.url;
  return scene;
}

test('a list repeats its name, undefined leaves it out, and every reserved character is encoded', async () => {
  const [request] = await sent(() => ({ path: '/issues', query: { label: ['a b', "it's"], page: '2', none: [], state: undefined } }));
  expect(request?.method).toBe('GET');
  expect(request?.url).toBe('/v1/issues?label=a%20b&label=it%27s&page=2');
});

test('an address that an answer has given is requested as it is, absolute or with a leading slash', async () => {
  const requests = await sent(
    (server) => ({ url: `${server}/v1/issues?label=a&label=b&page=2#top` }),
    () => ({ url: '/v1/issues?page=3' }),
  );
  expect(requests.map(({ url }) => url)).toEqual(['/v1/issues?label=a&label=b&page=2', '/v1/issues?page=3']);
});

test.each([
  ['https://elsewhere.example/v1/issues?token=hidden', 'leads to https://elsewhere.example'],
  ['//elsewhere.example/v1/issues', 'leads to http://elsewhere.example'],
  ['/v2/issues', 'leads out of /v1'],
  ['/v1evil', 'leads out of /v1'],
  ['/v1/../admin', 'leads out of /v1'],
  ['/v1/%2e%2e/admin', 'leads out of /v1'],
  ['?page=2', 'is neither absolute nor a path'],
  ['javascript:alert(1)', 'leads to null'],
])('%s is not requested: that request ends, and the next goes on', async (url, words) => {
  const { query, server, source } = await under([() => ({ url }), () => ({ path: '/good' })]);
  const error = await query('0').catch((reason: unknown) => reason);
  expect(error).toMatchObject({ code: 'HEADGATE_FOREIGN_ADDRESS', retryable: false, endsSource: false, subject: '0' });
  expect(String(error)).toContain(words);
  expect(String(error)).not.toContain('hidden');
  expect(source.gauges().budgets).toMatchObject([{ used: 0 }]);
  await query('1');
  expect(server.requests.map((request) => request.url)).toEqual(['/v1/good']);
});

test('methods beyond GET and POST are sent; the length that an answer to HEAD names is not a body', async () => {
  const headed = play(
    [(_, response) => response.writeHead(200, { 'content-length': 10_000 }).end(), ok],
    { maxBodyBytes: 100 },
    {
      toRequest: () => ({ method: 'HEAD', path: '/x' }),
      classify: ({ headers }) => ({ kind: 'ok', value: `${headers['content-length']}` }),
    },
  );
  expect((await (await headed).query()).value).toBe('10000');
  const requests = await sent(
    () => ({ method: 'PUT', path: '/x', body: 'put' }),
    () => ({ method: 'PATCH', path: '/x', body: 'patched' }),
    () => ({ method: 'DELETE', path: '/x' }),
  );
  expect(requests.map(({ method }) => method)).toEqual(['PUT', 'PATCH', 'DELETE']);
});
