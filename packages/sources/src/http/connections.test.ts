import { bearer } from '@headgate/auth';
import { creditPool } from '@headgate/throttle';
import { createServer } from 'node:http';
import { connect, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { describe, expect, test } from 'vitest';
import { defineSource } from '../define-source.ts';
import type { SourceOptions } from '../source-options.ts';
import type { Source } from '../source.ts';
import { whole } from '../testing/responses.ts';
import { scriptedServer } from '../testing/scripted-server.ts';

const echo = defineSource<string, string>({
  service: 'echo',
  limit: { requests: 100, windowMs: 1_000 },
  toRequest: (path) => ({ method: 'GET', path, query: { q: "a b'(*)!é&=" } }),
  classify: ({ body }) => ({ kind: 'ok', value: body.toString() }),
  subject: (path) => path,
  items: () => 1,
  itemsOf: () => 1,
});

const open = (options: Partial<SourceOptions> & Pick<SourceOptions, 'baseUrl'>): Source<string, string> =>
  echo({ credentials: [{ name: 'app', signer: bearer('token') }], env: {}, retryForMs: 0, ...options });
const query = async (source: Source<string, string>): Promise<string> =>
  (await source.query('/x', { credits: creditPool({ max: 10 }) })).value;

test('the base address keeps its path, and the query is spelled as signatures count on', async () => {
  await using server = await scriptedServer({ otherwise: whole('hello') });
  await using source = open({ baseUrl: `${server.url}/v2/`, userAgent: 'mine/1' });
  expect(await query(source)).toBe('hello');
  const [request] = server.requests;
  expect(request?.url).toBe('/v2/x?q=a%20b%27%28%2A%29%21%C3%A9%26%3D');
  expect(request?.headers).toMatchObject({ authorization: 'Bearer token', 'user-agent': 'mine/1', 'accept-encoding': 'gzip, br' });
});

test('connections are kept alive', async () => {
  await using server = await scriptedServer({ otherwise: whole('hello') });
  await using source = open({ baseUrl: server.url });
  for (let i = 0; i < 6; i += 1) await query(source);
  // A connection is free again one turn of the event loop after its response. Requests sent right after one another therefore alternate
  // between two connections.
  expect(new Set(server.requests.map(({ socket }) => socket)).size).toBeLessThanOrEqual(2);
  expect(server.requests[0]?.headers['user-agent']).toMatch(/^headgate\/\d/);
});

test.each([
  ['the option', (proxy: string) => ({ proxy })],
  ['HTTP_PROXY', (proxy: string) => ({ env: { HTTP_PROXY: proxy } })],
])('goes through the proxy of %s', async (_, options) => {
  await using server = await scriptedServer({ otherwise: whole('direct') });
  await using proxy = await scriptedServer({ otherwise: whole('through the proxy') });
  await using source = open({ baseUrl: server.url, ...options(proxy.url) });
  expect(await query(source)).toBe('through the proxy');
  expect(proxy.requests[0]?.url).toBe(`${server.url}/x?q=a%20b%27%28%2A%29%21%C3%A9%26%3D`);
  expect(server.requests).toHaveLength(0);
});

test.each([
  ['us%40er:p%3Ass%2Fwo%25rd', 'us@er:p:ss/wo%rd'],
  ['user', 'user:'],
])('sends user and password of the address, decoded: %s', async (given, decoded) => {
  await using proxy = await scriptedServer({ otherwise: whole('through the proxy') });
  await using source = open({ baseUrl: 'http://api.example', proxy: proxy.url.replace('//', `//${given}@`) });
  expect(await query(source)).toBe('through the proxy');
  expect(proxy.requests[0]?.headers['proxy-authorization']).toBe(`Basic ${Buffer.from(decoded).toString('base64')}`);
});

test('NO_PROXY and an empty proxy go straight', async () => {
  await using server = await scriptedServer({ otherwise: whole('direct') });
  await using byEnv = open({ baseUrl: server.url, env: { HTTP_PROXY: 'http://127.0.0.1:1', NO_PROXY: '127.0.0.1' } });
  await using byOption = open({ baseUrl: server.url, env: { HTTP_PROXY: 'http://127.0.0.1:1' }, proxy: '' });
  expect(await query(byEnv)).toBe('direct');
  expect(await query(byOption)).toBe('direct');
});

test('https goes through a tunnel', async () => {
  const tunnelled: (string | undefined)[] = [];
  const proxy = createServer();
  proxy.on('connect', ({ url }, socket) => {
    tunnelled.push(url);
    const [host = '', port = ''] = url?.split(':') ?? [];
    const upstream = connect(Number(port), host);
    for (const end of [socket, upstream]) end.on('error', () => undefined);
    upstream.on('connect', () => socket.write('HTTP/1.1 200 OK\r\n\r\n'));
    socket.pipe(upstream).pipe(socket);
  });
  const port = await listening(proxy);
  await using server = await scriptedServer({ otherwise: whole('no TLS here') });
  await using source = open({ baseUrl: server.url.replace('http:', 'https:'), proxy: `http://user:proxy-secret@127.0.0.1:${port}` });
  const error = await query(source).catch((reason: unknown) => String(reason));
  expect(error).toContain('cannot connect to 127.0.0.1');
  expect(error).not.toContain('proxy-secret');
  expect(tunnelled).toEqual([server.url.replace('http://', '')]);
  proxy.close();
  proxy.closeAllConnections();
});

describe('a proxy that lets nothing through', () => {
  const PROXY = 'http://user:proxy-secret@127.0.0.1:1';
  const failure = async (source: Source<string, string>): Promise<string> => {
    await using open = source;
    return await query(open).catch((error: unknown) => String(error));
  };

  test.each([
    ['the option', 'http:', { proxy: PROXY }],
    ['the option', 'https:', { proxy: PROXY }],
    ['HTTP_PROXY', 'http:', { env: { HTTP_PROXY: PROXY } }],
    ['HTTP_PROXY', 'https:', { env: { HTTP_PROXY: PROXY } }],
    ['HTTPS_PROXY', 'https:', { env: { HTTPS_PROXY: PROXY, HTTP_PROXY: 'http://127.0.0.1:2' } }],
  ])('is named if it is unreachable: %s, to %s', async (_, protocol, options) => {
    const error = await failure(open({ baseUrl: `${protocol}//api.example`, ...options }));
    expect(error).toContain('gave up after 1 attempt: cannot connect to api.example through the proxy 127.0.0.1:1: connection refused. ');
    expect(error).not.toContain('proxy-secret');
  });

  test('is named if it does not respond', async () => {
    const sockets: Socket[] = [];
    const silent = createTcpServer((socket) => sockets.push(socket.on('error', () => undefined)));
    const port = await listening(silent);
    const error = await failure(open({ baseUrl: 'http://api.example', proxy: `https://localhost:${port}`, timeoutMs: 200 }));
    expect(error).toContain(`cannot connect to api.example through the proxy localhost:${port}: timed out within 200 ms`);
    for (const socket of sockets) socket.destroy();
    silent.close();
  });

  test('is named with the other way if NO_PROXY exempts some addresses', async () => {
    const env = { HTTP_PROXY: PROXY, NO_PROXY: 'localhost,127.0.0.1' };
    const error = await failure(open({ baseUrl: 'http://127.0.0.1:2', env }));
    expect(error).toContain('cannot connect to 127.0.0.1:2 directly or through the proxy 127.0.0.1:1: connection refused. ');
  });

  const REFUSAL = 'HTTP/1.1 407 Proxy Authentication Required\r\ncontent-length: 0\r\n\r\n';
  const BAD_GATEWAY = 'HTTP/1.1 502 Bad Gateway\r\ncontent-length: 0\r\n\r\n';
  test.each([
    ['refuses its user', 'https:', REFUSAL, 'refuses requests to api.example (407). Check the user and password in its address'],
    ['refuses its user', 'http:', REFUSAL, 'refuses requests to api.example (407). Check the user and password in its address'],
    ['reaches nothing', 'https:', BAD_GATEWAY, 'refuses requests to api.example (502)'],
    ['hangs up', 'https:', '', 'closes connections to api.example'],
  ])('is named where it %s, to %s', async (_, protocol, answer, words) => {
    const proxy = createServer((request) => request.socket.end(answer)).on('connect', (_request, socket) => socket.end(answer));
    const address = `127.0.0.1:${await listening(proxy)}`;
    const url = `http://user:proxy-secret@${address}`;
    const env = protocol === 'http:' ? { http_proxy: url } : { HTTP_PROXY: 'http://127.0.0.1:2', HTTPS_PROXY: url };
    for (const options of [{ proxy: url }, { env }]) {
      const error = await failure(open({ baseUrl: `${protocol}//api.example`, ...options }));
      expect(error).toContain(`gave up after 1 attempt: the proxy ${address} ${words}.`);
      expect(error).not.toContain('proxy-secret');
    }
    proxy.close();
    proxy.closeAllConnections();
  });

  test.each(['http:', 'https:'])('is named if its host is unknown, to %s', async (protocol) => {
    const error = await failure(open({ baseUrl: `${protocol}//127.0.0.1:1`, proxy: 'http://user:proxy-secret@proxy.invalid:3128' }));
    expect(error).toMatch(
      /cannot connect to 127\.0\.0\.1:1 through the proxy proxy\.invalid:3128: (?:no such host name|name lookup failed temporarily)\./,
    );
    expect(error).not.toContain('proxy-secret');
  });

  test.each([
    'http://u:proxy-secret@[bad',
    'proxy-secret:80',
    '127.0.0.1:3128',
    'localhost:3128',
    'ftp://proxy-secret',
    'socks://proxy-secret:1080',
    'socks4://proxy-secret:1080',
    'socks5://u:proxy-secret@127.0.0.1:1080',
    'socks5h://127.0.0.1:1080',
    'http://127.0.0.1:99999',
    'http://127.0.0.1:0',
    'http://%ff:proxy-secret@127.0.0.1:1',
    'http://:proxy-secret@127.0.0.1:1',
  ])('is refused if its address is invalid, and not shown: %s', async (address) => {
    const wrong = (options: Partial<SourceOptions>): unknown => {
      try {
        return open({ baseUrl: 'https://api.example', ...options });
      } catch (error) {
        return error;
      }
    };
    const must = "must be an http or https address such as http://127.0.0.1:3128 (SOCKS isn't supported), or";
    for (const [options, message] of [
      [{ proxy: address }, `echo: proxy ${must} '' for none`],
      [{ env: { https_proxy: address } }, `echo: HTTPS_PROXY of the environment ${must} empty for none`],
      [{ env: { HTTP_PROXY: address } }, `echo: HTTP_PROXY of the environment ${must} empty for none`],
    ] as const) {
      expect(wrong(options)).toMatchObject({ code: 'HEADGATE_INVALID_OPTION', message });
    }
  });
});

test('an unreachable host is named, with the reason', async () => {
  await using source = open({ baseUrl: 'http://127.0.0.1:1' });
  await expect(query(source)).rejects.toMatchObject({
    code: 'HEADGATE_GAVE_UP',
    retryable: true,
    message:
      '/x: gave up after 1 attempt: cannot connect to 127.0.0.1:1: connection refused. Retry later, or allow more time (retryFor; in code retryForMs).',
  });
  // No byte of the request was sent, so the budget isn't used.
  expect(source.gauges().budgets).toMatchObject([{ credential: 'app', used: 0 }]);
});

test('endless headers are refused', async () => {
  await using server = await scriptedServer({
    otherwise: (_, response) => response.writeHead(200, { 'x-long': 'x'.repeat(300_000) }).end('hello'),
  });
  await using source = open({ baseUrl: server.url });
  await expect(query(source)).rejects.toThrow('the response headers exceed the limit of 256 KiB');
});

test.each([
  ['a stray interim response', 'HTTP/1.1 100 Continue\r\n\r\n', 'sent "100 Continue", which the request doesn\'t ask for'],
  ['lines that end in LF alone', 'HTTP/1.1 200 OK\ncontent-length: 2\n\n{}', "sent something that isn't an HTTP response ("],
  ['a space before a colon', 'HTTP/1.1 200 OK\r\ncontent-length : 2\r\n\r\n{}', "sent something that isn't an HTTP response ("],
])('a response that can’t be read is named, and ends its request alone: %s', async (_, answer, words) => {
  const odd = createTcpServer((socket) => socket.on('error', () => undefined).once('data', () => socket.write(answer)));
  const port = await listening(odd);
  await using source = open({ baseUrl: `http://127.0.0.1:${port}`, waitOutOutages: true });
  await expect(query(source)).rejects.toMatchObject({ code: 'HEADGATE_GAVE_UP', message: expect.stringContaining(words) as string });
  odd.close();
});

async function listening(server: Server): Promise<number> {
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const address = server.address();
  return typeof address === 'object' ? (address?.port ?? 0) : 0;
}
