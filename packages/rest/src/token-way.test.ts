import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { once } from 'node:events';
import { createServer } from 'node:https';
import { createServer as createProxy } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { start } from '@headgate/pipeline';
import { expect, it } from 'vitest';
import { valuesOf } from './cut-runs.fixture.ts';
import { lister } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog, temporaryFolder } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();
const list = lister(shareOfLog);

const run = promisify(execFile);
const haveOpenssl = await run('openssl', ['version']).then(
  () => true,
  () => false,
);

it.skipIf(!haveOpenssl)('a token is requested like pages: through the proxy, with the own certificate authority', async () => {
  await using folder = await temporaryFolder();
  const [keyFile, ca] = [join(folder.path, 'key.pem'), join(folder.path, 'ca.pem')];
  const making = ['req', '-x509', '-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes', '-days', '1', '-subj', '/CN=service'];
  await run('openssl', [...making, '-addext', 'subjectAltName=IP:127.0.0.1', '-keyout', keyFile, '-out', ca]);
  const requested: (string | undefined)[] = [];
  const server = createServer({ key: readFileSync(keyFile), cert: readFileSync(ca) }, ({ url, headers }, response) => {
    requested.push(url);
    const isPage = headers.authorization === 'Bearer given';
    response.writeHead(url === '/token' || isPage ? 200 : 401, { 'content-type': 'application/json' });
    response.end(url === '/token' ? '{"access_token":"given"}' : '[{"id":1}]');
  });
  const tunnels: (string | undefined)[] = [];
  const proxy = createProxy();
  proxy.on('connect', ({ url = '', headers }, socket) => {
    tunnels.push(headers['proxy-authorization']);
    const upstream = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      socket.pipe(upstream).pipe(socket);
    });
    upstream.on('error', () => socket.destroy());
    socket.on('error', () => upstream.destroy());
  });
  for (const one of [server, proxy]) await once(one.listen(0, '127.0.0.1'), 'listening');
  const port = (of: { address(): unknown }): number => (of.address() as AddressInfo).port;
  try {
    const pipeline = rest('api')({
      baseUrl: `https://127.0.0.1:${port(server)}`,
      credentials: [{ name: 'app', token: { url: '/token', id: 'me', secret: 'shh' } }],
      limit: { requests: 500, window: '100ms' },
      proxy: `http://me:word@127.0.0.1:${port(proxy)}`,
      ca,
      streams: { items: { get: '/items', key: '$.id' } },
    });
    const share = shareOfLog();
    await using running = await start({ ...share, pipelines: [pipeline] });
    expect((await running.done).outcome).toBe('done');
    expect([await valuesOf(share, 'api.items'), await valuesOf(share, 'api.dead-letters')]).toEqual([[{ id: 1 }], []]);
    expect(requested).toEqual(['/token', '/items']);
    // One tunnel for the token, and one for the page. A slow machine opens more if a permit expires while a connection is being opened.
    expect(tunnels.length).toBeGreaterThanOrEqual(2);
    expect(new Set(tunnels)).toEqual(new Set([`Basic ${Buffer.from('me:word').toString('base64')}`]));
  } finally {
    server.closeAllConnections();
    proxy.closeAllConnections();
    server.close();
    proxy.close();
  }
});

it('a refresh token that changes at each use is refused at its second use, and the message says why', async () => {
  let valid = 'first';
  const { deadLetters, notices } = await list(
    {
      credentials: [{ name: 'app', token: { url: '/token', refreshToken: 'first' } }],
      limit: { requests: 500, window: '100ms' },
      streams: { items: { get: '/items', key: '$.id', pages: { page: { query: 'page' } } } },
    },
    {
      routes: {
        'POST /token': ({ body }) => {
          if ((body as Record<string, string>)['refresh_token'] !== valid) return { status: 400, body: { error: 'invalid_grant' } };
          valid = 'second';
          return { body: { access_token: 't', refresh_token: valid, expires_in: 0.001 } };
        },
        'GET /items': ({ query }) => ({ body: [{ id: query.get('page') }] }),
      },
    },
    { mayFail: true },
  );
  expect([...deadLetters.map(({ message }) => message), ...notices].join('\n')).toMatch(
    /Requesting the token failed: http:\/\/127\.0\.0\.1:\d+\/token answered 400\. Check url, .* A refresh token that changes at each use is valid once: Headgate keeps none that a response gives\./,
  );
});

it.each([
  [{}, /the response of http:\/\/127\.0\.0\.1:\d+\/v1\/token has nothing at \$\.access_token\. Write token\.at\./u],
  [{ access_token: 't', expires_in: 'soon' }, /the response of http:\/\/127\.0\.0\.1:\d+\/v1\/token has text at \$\.expires_in/u],
])('a token that %j lacks is reported with the address that was asked, without its query', async (body, says) => {
  const { notices } = await list(
    {
      credentials: [{ name: 'app', token: { url: '/v1/token?key=never-shown', id: 'me', secret: 'never-shown' } }],
      limit: { requests: 500, window: '100ms' },
      streams: { items: { get: '/items', key: '$.id' } },
    },
    { routes: { 'POST /v1/token': () => ({ body }) } },
    { mayFail: true },
  );
  expect(notices.join('\n')).toMatch(says);
  expect(notices.join('\n')).not.toContain('never-shown');
});
