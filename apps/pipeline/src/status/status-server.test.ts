import { connect } from 'node:net';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from 'vitest';
import { createRunModel } from './run-model.ts';
import { startStatusServer } from './status-server.ts';
import { StatusPortError } from './status-port-error.ts';
import { virtualClock } from './virtual-clock.fixture.ts';
import type { Server } from 'node:http';
import type { RunGauges } from './run-event.ts';
import type { RunModel } from './run-model.ts';
import type { StatusServer } from './status-server.ts';

const open: (() => Promise<void>)[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((close) => close()));
});

const evil = `"><script>alert('1')</script>&`;

async function start(
  options: {
    readonly ready?: () => boolean;
    readonly port?: number;
    readonly names?: readonly string[];
    readonly gauges?: () => RunGauges;
  } = {},
): Promise<StatusServer & { readonly model: RunModel }> {
  const clock = virtualClock();
  const model = createRunModel({ clock });
  const gauges: RunGauges = {
    budgets: [
      { service: 'followers', credential: 'app', limit: 15, used: 15, windowMs: 900_000, freeAt: clock.now() + 60_000 },
      { service: 'books', credential: evil, limit: 5, used: 1, windowMs: 1000 },
    ],
    credits: [{ service: 'followers', max: 20_000, used: 20_000 }],
    activities: [{ service: 'followers', subject: '@alpha', state: 'waiting-for-budget' }],
  };
  const server = await startStatusServer({
    port: 0,
    host: '127.0.0.1',
    model,
    gauges: () => gauges,
    ready: () => true,
    timeZone: 'UTC',
    ...options,
  });
  open.push(() => server.close());
  return { ...server, model };
}

describe('the status server', () => {
  it('shows people a page that needs nothing from elsewhere and loads itself again', async () => {
    const { url, model } = await start();
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 412, ids: 5000, credential: 'app' });
    const response = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml,*/*;q=0.8' } });
    expect(response.headers.get('content-type')).toBe('text/html; charset=utf-8');
    expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
    const html = await response.text();
    for (const text of [
      '@alpha',
      '412 pages',
      '5,000 ids',
      '15 / 15',
      'next at 10:32:04',
      'everything waits for this',
      'http-equiv="refresh"',
      '20,000 ids unwritten',
    ]) {
      expect(html).toContain(text);
    }
    expect(html).not.toMatch(/https?:|src=|<script|<link|@import/);
    expect(html).not.toContain('stands by');
  });

  it('answers to its own names alone: a page elsewhere may let its name lead here', async () => {
    const { port } = await start({ names: ['headgate.internal'] });
    const statusFor = async (named: string, path = '/status.json'): Promise<string | undefined> => {
      const answer = await exchange(port, `GET ${path} HTTP/1.1\r\n${named}connection: close\r\n\r\n`);
      return answer.split(' ')[1];
    };
    const ours = [
      '127.0.0.1',
      `127.0.0.1:${port}`,
      '10.1.2.3:9464',
      'localhost',
      `LOCALHOST.:${port}`,
      '[::1]',
      '[::1]:9464',
      'Headgate.Internal:80',
    ];
    for (const name of ours) expect([name, await statusFor(`host: ${name}\r\n`)]).toEqual([name, '200']);
    for (const name of [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'a:b:c',
      '[evil]',
      'internal',
    ])
      expect([name, await statusFor(`host: ${name}\r\n`)]).toEqual([name, '403']);
    for (const path of ['/', '/livez', '/readyz', '/metrics', '/none']) expect(await statusFor('host: evil.example\r\n', path)).toBe('403');
    expect(await exchange(port, 'GET /livez HTTP/1.0\r\n\r\n')).toMatch(/^HTTP\/1\.1 200 /);
  });

  it('shows whatever a name holds as text', async () => {
    const { url, model } = await start();
    model.apply({ type: 'crawl-failed', user: evil, crawl: 'c', error: { code: evil, message: evil } });
    model.apply({ type: 'dead-letter', topic: evil, key: evil, error: { code: evil, message: `${evil}\u001B[2J\u0000` } });
    const html = await (await fetch(url)).text();
    expect(html).not.toMatch(/<script|alert\('/);
    expect(html.replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
    expect(html).toContain('&quot;&gt;&lt;script&gt;alert(&#39;1&#39;)&lt;/script&gt;&amp;');
  });

  it('gives programs JSON: by its path, or where Accept prefers it', async () => {
    const { url, model } = await start();
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 412, ids: 5000, credential: 'app' });
    const byPath: unknown = await (await fetch(`${url}status.json?x=1`)).json();
    const byAccept: unknown = await (await fetch(url, { headers: { accept: 'application/json' } })).json();
    expect(byAccept).toEqual(byPath);
    expect(byPath).toMatchObject({
      ready: true,
      run: { totals: { pages: 1, ids: 5000 }, crawls: [{ user: '@alpha', page: 412 }] },
      now: { budgets: [{ credential: 'app', used: 15 }, {}] },
    });
    const both = await fetch(url, { headers: { accept: 'text/html, application/json' } });
    expect(both.headers.get('content-type')).toContain('text/html');
  });

  it('lives at once and is ready when the run is', async () => {
    let ready = false;
    const { url, model } = await start({ ready: () => ready });
    expect((await fetch(`${url}livez`)).status).toBe(200);
    const notYet = await fetch(`${url}readyz`);
    expect([notYet.status, await notYet.text()]).toEqual([503, 'not yet: it begins to work when the log has answered\n']);
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: 'connect ECONNREFUSED 127.0.0.1:9092' });
    expect(await (await fetch(`${url}readyz`)).text()).toMatch(/^not yet: .*\nkafka can't be reached since .*ECONNREFUSED/u);
    model.apply({ type: 'log-available', driver: 'kafka' });
    ready = true;
    expect((await fetch(`${url}readyz`)).status).toBe(200);
  });

  it('is not ready, and alive, while the log is away, and says why', async () => {
    const { url, model } = await start();
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: `connect ECONNREFUSED 127.0.0.1:9092 ${evil}` });
    const response = await fetch(`${url}readyz`);
    expect([response.status, await response.text()]).toEqual([
      503,
      `kafka can't be reached since 10:31:04 (connect ECONNREFUSED 127.0.0.1:9092 ${evil}): nothing is lost, goes on by itself\n`,
    ]);
    expect(response.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect((await fetch(`${url}livez`)).status).toBe(200);
    expect(await (await fetch(`${url}status.json`)).json()).toMatchObject({
      ready: false,
      run: { logUnavailable: { since: 1773138664000 } },
    });
    const html = await (await fetch(url)).text();
    expect(html).toContain('<p class="wait">kafka can&#39;t be reached since 10:31:04 (connect ECONNREFUSED');
    expect(html).not.toContain('<script');
    expect(await metricsOf(url)).toContain('headgate_log_available 0');
    model.apply({ type: 'log-available', driver: 'kafka' });
    expect((await fetch(`${url}readyz`)).status).toBe(200);
    expect(await metricsOf(url)).toContain('headgate_log_available 1');
    expect(await (await fetch(`${url}status.json`)).json()).toMatchObject({ ready: true });
    expect(await (await fetch(url)).text()).not.toContain('kafka');
  });

  it('is not ready when a lane can not go on, and says why', async () => {
    const { url, model } = await start();
    model.apply({ type: 'lane-opened', service: 'books', lane: 0 });
    const lane = { service: 'followers', lane: 0 } as const;
    model.apply({ type: 'lane-opened', ...lane });
    model.apply({ type: 'lane-left', ...lane, reason: `The token is refused.${evil}`, failed: true });
    const response = await fetch(`${url}readyz`);
    const words = "followers lane 0 can't go on: The token is refused.";
    expect([response.status, await response.text()]).toEqual([503, expect.stringContaining(words)]);
    expect(await (await fetch(`${url}status.json`)).json()).toMatchObject({
      ready: false,
      run: { failedLanes: [lane], lanes: [{ service: 'books' }] },
    });
    const html = await (await fetch(url)).text();
    expect(html).toContain('<p class="bad">followers lane 0 can&#39;t go on: The token is refused.');
    expect(html).not.toContain('<script');
    model.apply({ type: 'lane-opened', ...lane });
    expect((await fetch(`${url}readyz`)).status).toBe(200);
  });

  it('waits for a file as for brokers', async () => {
    const { url, model } = await start();
    model.apply({ type: 'log-unavailable', driver: 'sqlite', reason: 'no room' });
    expect(await (await fetch(`${url}readyz`)).text()).toContain(
      "the topic log can't be written since 10:31:04 (no room): nothing is lost",
    );
  });

  it('shows the lanes that are held', async () => {
    const { url, model } = await start({ gauges: () => ({ budgets: [], credits: [], activities: [] }) });
    expect(await (await fetch(url)).text()).toContain('<p>joins the group: ');
    model.apply({ type: 'lanes-assigned', lanes: 0 });
    expect(await (await fetch(url)).text()).toContain('<p>stands by: other processes of the group work all lanes</p>');
    model.apply({ type: 'log-unavailable', driver: 'kafka', reason: 'no leader' });
    expect(await (await fetch(url)).text()).not.toContain('stands by');
    model.apply({ type: 'log-available', driver: 'kafka' });
    for (const lane of [0, 1]) model.apply({ type: 'lane-opened', service: 'followers', lane });
    expect(await metricsOf(url)).toEqual(
      expect.arrayContaining(['headgate_lanes{service="followers"} 2', 'headgate_lanes{service="books"} 0']),
    );
    expect(await (await fetch(url)).text()).toContain('<p>lanes 0 1</p>');
    model.apply({ type: 'lane-left', service: 'followers', lane: 0 });
    expect(await metricsOf(url)).toContain('headgate_lanes{service="followers"} 1');
    expect(await (await fetch(`${url}status.json`)).json()).toMatchObject({ run: { lanes: [{ service: 'followers', lane: 1 }] } });
  });

  it('gives Prometheus what the run counted, the same at every scrape', async () => {
    const { url, model } = await start();
    model.apply({ type: 'page-written', user: '@alpha', crawl: 'c1', page: 1, ids: 5000, credential: 'app' });
    model.apply({ type: 'request', service: 'followers', credential: 'app', outcome: 'transient', subject: '@alpha', status: 503 });
    model.apply({ type: 'dead-letter', topic: 'books.dead-letters', key: 'k', error: { code: 'X', message: 'x' } });
    model.apply({ type: 'changes-written', user: '@alpha', crawl: 'c1', followed: 7, unfollowed: 2 });
    await fetch(`${url}metrics`);
    const response = await fetch(`${url}metrics`);
    expect(response.headers.get('content-type')).toContain('text/plain; version=0.0.4');
    const text = await response.text();
    for (const line of [
      'headgate_pages_total 1',
      'headgate_ids_total 5000',
      'headgate_changes_total{change="unfollowed"} 2',
      'headgate_requests_total{service="followers",outcome="transient"} 1',
      'headgate_faults_total{kind="503"} 1',
      'headgate_dead_letters_total{topic="books.dead-letters"} 1',
      'headgate_budget_limit{service="followers",credential="app",unit="requests"} 15',
      'headgate_budget_wait_seconds{service="followers",credential="app",unit="requests"} 60',
      'headgate_credit_used{service="followers"} 20000',
      'headgate_activities{service="followers",state="waiting-for-budget"} 1',
    ]) {
      expect(text.split('\n')).toContain(line);
    }
    expect(text).not.toContain('@alpha');
  });

  it('two runs in one process share no metrics', async () => {
    const one = await start();
    const other = await start();
    one.model.apply({ type: 'author-written', author: 'A', page: 1, last: true, books: 1 });
    expect(await (await fetch(`${other.url}metrics`)).text()).toContain('headgate_authors_total 0');
  });

  it('only reads', async () => {
    const { url } = await start();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH']) {
      const response = await fetch(url, { method, ...(method === 'POST' ? { body: 'x' } : {}) });
      expect([method, response.status, response.headers.get('allow')]).toEqual([method, 405, 'GET, HEAD']);
    }
    const head = await fetch(`${url}status.json`, { method: 'HEAD' });
    expect([head.status, Number(head.headers.get('content-length')) > 100, await head.text()]).toEqual([200, true, '']);
  });

  it('knows nothing else, and gives nothing of a request back', async () => {
    const { url, port } = await start();
    const response = await fetch(`${url}nowhere/${encodeURIComponent(evil)}?${encodeURIComponent(evil)}`);
    expect(response.status).toBe(404);
    expect(await response.text()).not.toContain('script');
    const raw = await exchange(port, 'GET //evil.example.com/%0d%0a HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n');
    expect(raw).toMatch(/^HTTP\/1.1 404 /);
    expect(raw).not.toContain('evil');
    const refused = await exchange(port, 'GET / HTTP/1.1\r\nHost: evil.example.com\r\nConnection: close\r\n\r\n');
    expect(refused).not.toContain('evil.example.com');
  });

  it('answers 500 without a word of the cause when the run cannot be read', async () => {
    const { url } = await start({
      gauges: () => {
        throw new Error('the inner cause');
      },
    });
    const response = await fetch(`${url}status.json`);
    expect(response.status).toBe(500);
    expect(await response.text()).not.toContain('inner');
    expect((await fetch(`${url}livez`)).status).toBe(200);
  });

  it('takes the next free port where its own is busy, and says which', async () => {
    const first = await start();
    const second = await start({ port: first.port });
    expect(second.port).toBeGreaterThan(first.port);
    expect(second.url).toBe(`http://127.0.0.1:${second.port}/`);
    expect((await fetch(`${second.url}livez`)).status).toBe(200);
  });

  it('gives up after 20 busy ports with an error that says what to set', async () => {
    const taken = await occupy(20);
    const problem = await start({ port: taken }).catch((error: unknown) => error);
    expect(problem).toBeInstanceOf(StatusPortError);
    expect(problem).toMatchObject({ code: 'HEADGATE_STATUS_PORT', retryable: false });
    expect(String(problem)).toContain(`ports ${taken} to ${taken + 19} on 127.0.0.1 are all in use. Set status.port`);
  });

  it('says when its host is not one of this machine', async () => {
    const model = createRunModel({ clock: virtualClock() });
    const gauges = (): RunGauges => ({ budgets: [], credits: [], activities: [] });
    const problem = await startStatusServer({ port: 0, host: '192.0.2.1', model, gauges, ready: () => true }).catch(
      (error: unknown) => error,
    );
    expect(problem).toMatchObject({ code: 'HEADGATE_STATUS_PORT', message: expect.stringContaining('EADDRNOTAVAIL') as unknown });
  });

  it('closes at once though somebody stays connected', async () => {
    const server = await start();
    const socket = connect(server.port, '127.0.0.1');
    socket.on('error', () => {});
    await new Promise((resolve) => socket.once('connect', resolve));
    const ended = new Promise((resolve) => socket.once('close', resolve));
    await server.close();
    await expect(ended).resolves.toBe(false);
  });
});

async function metricsOf(url: string): Promise<string[]> {
  return (await (await fetch(`${url}metrics`)).text()).split('\n');
}

function exchange(port: number, request: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let answer = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(request));
    socket.setEncoding('utf8');
    socket.on('data', (part: string) => (answer += part));
    socket.on('error', reject);
    socket.on('close', () => resolve(answer));
  });
}

/** Takes that many ports in a row that were free; returns the first. */
async function occupy(count: number): Promise<number> {
  for (let first = 20_000 + (process.pid % 20_000); ; first += count) {
    const servers = await Promise.all(Array.from({ length: count }, (_, index) => take(first + index)));
    const got = servers.filter((server) => server !== undefined);
    const release = (): Promise<void> => Promise.all(got.map((server) => new Promise((resolve) => server.close(resolve)))).then(() => {});
    if (got.length === count) {
      open.push(release);
      return first;
    }
    await release();
  }
}

function take(port: number): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
