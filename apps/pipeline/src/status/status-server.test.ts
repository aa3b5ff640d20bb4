import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { request } from 'node:http';
import { connect } from 'node:net';
import { startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { followers } from '../pipelines/followers.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { type RunView, runViewer } from './run-view.ts';
import { ABOUT, type Place, place } from './shown-run.fixture.ts';
import { type StatusServer, type StatusServerOptions, startStatusServer } from './status-server.ts';

interface Asked {
  readonly status: number | undefined;
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  readonly body: string;
}

/** Sends a request with any Host header and any method, as a browser can't. */
async function ask(url: string, headers: Readonly<Record<string, string>> = {}, method = 'GET'): Promise<Asked> {
  return await new Promise((resolve, reject) => {
    const asked = request(url, { method, headers }, (response) => {
      let body = '';
      response.on('data', (chunk: Buffer) => (body += chunk.toString()));
      response.on('end', () => resolve({ status: response.statusCode, headers: response.headers, body }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function serve(
  { clock }: Pick<Place, 'clock'>,
  options: Partial<StatusServerOptions> & Pick<StatusServerOptions, 'view'>,
): Promise<StatusServer> {
  const commandFor = (command: string, argument: string): string => `headgate ${command} ${argument}`;
  return await startStatusServer({ port: 0, host: '127.0.0.1', clock, commandFor, timeZone: 'UTC', ...options });
}

it('the server shows a run as page, JSON and metrics, each from one view, and nothing that a browser would execute', async () => {
  await using here = await place();
  await using api = await startFollowers({
    window: { kind: 'rolling', limit: 100_000, windowMs: 1 },
    users: { alpha: { followers: 30 } },
    faults: [{ name: 'html', at: 3, times: 1_000 }],
  });
  const run = await here.run([
    followers({
      baseUrl: api.url,
      credentials: [{ name: 'app', bearer: 'a-token' }],
      users: [{ screenName: 'alpha' }],
      limit: { requests: 2, window: '15m' },
      count: 10,
    }),
  ]);
  await run.shows(/waits for budget until/u);
  let views = 0;
  const view = () => ((views += 1), run.view());
  const server = await serve(here, { names: ['status.example'], view });
  try {
    const page = await ask(server.url);
    expect(page.body).toContain('<title>headgate</title>');
    expect(page.headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': expect.stringContaining("default-src 'none'"),
    });
    const json = JSON.parse((await ask(`${server.url}status.json`)).body) as unknown;
    expect(json).toMatchObject({
      ready: true,
      work: [{ key: '@alpha', pages: 2, items: 20, doing: { state: 'waiting', for: 'budget' } }],
      progress: { done: 2, left: 1, is_exact: false },
    });
    views = 0;
    const metrics = await ask(`${server.url}metrics`);
    expect(views).toBe(1);
    for (const line of [
      'headgate_pages_total{pipeline="followers"} 2',
      'headgate_requests_left{pipeline="followers"} 1',
      'headgate_budget_used{pipeline="followers",credential="app",budget="rate"} 2',
      'headgate_work{pipeline="followers",state="waiting"} 1',
    ]) {
      expect(metrics.body.split('\n')).toContain(line);
    }
    const answers = ['livez', 'readyz', 'else'].map(async (path) => (await ask(server.url + path)).status);
    expect(await Promise.all(answers)).toEqual([200, 200, 404]);
    expect((await ask(server.url, {}, 'POST')).status).toBe(405);
    expect(await ask(server.url, {}, 'HEAD')).toMatchObject({ status: 200, body: '' });
    expect((await ask(server.url, { accept: 'application/json' })).headers['content-type']).toBe('application/json');
    const hosts = ['evil.example', 'status.example', 'localhost:1', '[::1]:2', '10.0.0.1'].map(
      async (host) => (await ask(server.url, { host })).status,
    );
    expect(await Promise.all(hosts)).toEqual([403, 200, 200, 200, 200]);
    const second = await serve(here, { port: server.port, view });
    expect(second.port).toBeGreaterThan(server.port);
    await second.close();
  } finally {
    await server.close();
  }
});

it('the page allows only its own script and style, and its document contains neither the run nor its address', async () => {
  await using here = await place();
  const viewer = runViewer(here.clock, new AbortController().signal, { ...ABOUT, config: '<b>&"' });
  const server = await serve(here, { view: () => viewer.view() });
  try {
    const { headers, body } = await ask(`${server.url}?q=%22%3E%3Cscript%3Ealert(1)%3C/script%3E&state=%3Cb%3E&rows=1e9`);
    expect(body).toBe((await ask(server.url)).body);
    const policy = String(headers['content-security-policy']);
    const hashes = ['script', 'style'].map((tag) => {
      const [, inline = ''] = new RegExp(`<${tag}[^>]*>([^]*?)</${tag}>`, 'u').exec(body) ?? [];
      return `${tag}-src 'sha256-${createHash('sha256').update(inline).digest('base64')}'`;
    });
    for (const one of ["default-src 'none'", ...hashes, "connect-src 'self'", "form-action 'none'", "base-uri 'none'"]) {
      expect(policy.split('; ')).toContain(one);
    }
    expect(policy).not.toMatch(/unsafe|\*|https?:/u);
    expect(body.match(/<script|<style/gu)).toEqual(['<style', '<script']);
    expect(body).not.toMatch(/(?:src|href)="(?!data:|status\.json"|metrics"|readyz")/u);
    expect(body).not.toMatch(/ on\w+=| style=/u);
  } finally {
    await server.close();
  }
});

it('/readyz fails before the run has its lanes', async () => {
  await using here = await place();
  const viewer = runViewer(here.clock, new AbortController().signal, ABOUT);
  const server = await serve(here, { view: () => viewer.view() });
  const before = await ask(`${server.url}readyz`);
  expect([before.status, before.body]).toEqual([503, 'not ready: the run starts when the log responds\n']);
  viewer.apply({ type: 'log-unavailable', driver: 'kafka', reason: '<b>no broker</b>', since: here.clock.epochMs() });
  expect((await ask(`${server.url}readyz`)).body).toMatch(/kafka can't be reached since .*: nothing is lost; .* \(<b>no broker<\/b>\)$/mu);
  await server.close();
});

it('/readyz fails while a service sends only errors, and says since when', async () => {
  const { now, pipelines } = busyView();
  const serving = (since: number) => {
    const failing = { since, attempts: 3, reason: 'cannot connect to <b>: connection refused', retryAt: now + 30_000 };
    const followers = { ...pipelines['followers'], failing } as RunView['pipelines'][string];
    return busyView({ changed: { pipelines: { ...pipelines, followers } } });
  };
  let view = serving(now - 62_000);
  const server = await serve({ clock: virtualClock() }, { view: () => view });
  try {
    const answer = await ask(`${server.url}readyz`);
    expect([answer.status, answer.body]).toEqual([
      503,
      'followers: down since 12:12:58, next attempt 12:14:30 (3 attempts): cannot connect to <b>: connection refused\n',
    ]);
    expect(JSON.parse((await ask(`${server.url}status.json`)).body)).toMatchObject({ ready: false });
    // Errors for a second aren't reported as an outage yet.
    view = serving(now - 1_000);
    expect((await ask(`${server.url}readyz`)).status).toBe(200);
  } finally {
    await server.close();
  }
});

it('the server responds with 500 while the run can’t be read, and keeps serving', async () => {
  await using here = await place();
  const viewer = runViewer(here.clock, new AbortController().signal, ABOUT);
  let isBroken = true;
  const view = () => {
    if (isBroken) throw new Error('tok-7Gh2-never-shown');
    return viewer.view();
  };
  const server = await serve(here, { view });
  try {
    const broken = ['screen.json', 'status.json', 'readyz', 'metrics'].map(async (path) => await ask(server.url + path));
    for (const { status, body } of await Promise.all(broken)) expect([status, body]).toEqual([500, 'The status could not be read.\n']);
    expect((await ask(`${server.url}livez`)).status).toBe(200);
    isBroken = false;
    expect((await ask(server.url)).status).toBe(200);
  } finally {
    await server.close();
  }
});

it('the server closes even if clients are connected, idle or not', async () => {
  await using here = await place();
  const viewer = runViewer(here.clock, new AbortController().signal, ABOUT);
  const server = await serve(here, { view: () => viewer.view() });
  const clients = ['', 'GET / HTTP/1.1\r\nHost: localhost\r\n'].map(async (sent) => {
    const client = connect(server.port, '127.0.0.1');
    await once(client, 'connect');
    client.write(sent);
    return client;
  });
  const cut = (await Promise.all(clients)).map((client) =>
    once(
      client.on('error', () => undefined),
      'close',
    ),
  );
  expect((await ask(`${server.url}livez`)).status).toBe(200);
  await server.close();
  await Promise.all(cut);
  await expect(ask(server.url)).rejects.toThrow(/ECONNREFUSED/u);
});

it('an error names the ports in use or the address that can’t be used, and the setting to change', async () => {
  const view = (): never => {
    throw new Error('nobody asks');
  };
  const here = { clock: virtualClock() };
  const last = await serve(here, { port: 65_535, view }).catch(() => undefined);
  await expect(serve(here, { port: 65_535, view })).rejects.toThrow(
    'The status page has no port: port 65535 on 127.0.0.1 and those after it are in use. Set status.port and status.host to free ones, or status: false.',
  );
  await last?.close();
  await expect(serve(here, { host: '192.0.2.1', view })).rejects.toThrow(/192\.0\.2\.1:0 can't be used \(EADDRNOTAVAIL\)/u);
});
