import { once } from 'node:events';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';

import { Agent, request } from 'undici';
import { afterEach, expect, test, vi } from 'vitest';

import { jsonAnswer } from './answer.ts';
import { startBooks } from '../books/books-server.ts';
import { deliver } from './delivery.ts';
import type { Fault } from './fault.ts';
import { startFollowers } from '../followers/followers-server.ts';
import type { FollowersSandbox } from '../followers/followers-server.ts';

let running: FollowersSandbox | undefined;
let agent: Agent | undefined;

afterEach(async () => {
  await agent?.destroy();
  await running?.close();
});

async function start(...faults: Fault[]): Promise<FollowersSandbox> {
  agent = new Agent();
  running = await startFollowers({ users: { alpha: { followers: 120, pageSize: 10 } }, window: { limit: 1000 }, faults });
  return running;
}

interface Got {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function get(cursor = '-1', signal?: AbortSignal): Promise<Got> {
  const { statusCode, headers, body } = await request(`${running?.url ?? ''}/1.1/followers/ids.json?screen_name=alpha&cursor=${cursor}`, {
    headers: { authorization: 'Bearer secret' },
    ...(agent === undefined ? {} : { dispatcher: agent }),
    ...(signal === undefined ? {} : { signal }),
  });
  return { status: statusCode, type: String(headers['content-type']), text: await body.text() };
}

async function failureOf(work: Promise<unknown>): Promise<string> {
  try {
    await work;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : String(error);
  }
  return 'none';
}

test('faults set while it runs replace those before from the next request on, until others are set', async () => {
  const sandbox = await start({ name: '503', times: 2 }, { name: 'html', at: 4 });
  const whole = { status: 200, type: 'application/json;charset=utf-8' };
  expect(await get()).toMatchObject({ status: 503 });
  sandbox.setFaults([{ name: 'reset', at: 2, times: Infinity }]);
  expect(() => sandbox.setFaults([{ name: 'cut', at: 0 }])).toThrow('at of the fault cut is 0');
  expect(await get()).toMatchObject(whole);
  for (let i = 0; i < 3; i += 1) expect(await failureOf(get())).toBe('ECONNRESET');
  sandbox.setFaults([]);
  expect(await get()).toMatchObject(whole);
});

test('faults that a catalogue cannot have are refused while it runs too', async () => {
  await using books = await startBooks();
  expect(() => books.setFaults([{ name: 'cursor-loop' }])).toThrow("isn't available for this service");
  books.setFaults([{ name: '503' }]);
  const statuses: number[] = [];
  for (let i = 0; i < 2; i += 1) {
    statuses.push((await request(`${books.urls.pro}/book/9780306406157`, { headers: { authorization: 'key' } })).statusCode);
  }
  expect(statuses).toEqual([503, 200]);
});

test('a fault changes its request alone: the one before and the one after are whole, and all three have counted', async () => {
  const sandbox = await start({ name: 'reset', at: 2 });
  const whole = await get();
  expect(await failureOf(get())).toBe('ECONNRESET');
  expect(await get()).toEqual(whole);
  expect(sandbox.requests.map(({ status, fault }) => [status, fault])).toEqual([
    [200, undefined],
    [0, 'reset'],
    [200, undefined],
  ]);
  const { headers } = await request(`${sandbox.url}/1.1/followers/ids.json?screen_name=alpha`, {
    headers: { authorization: 'Bearer secret' },
    ...(agent === undefined ? {} : { dispatcher: agent }),
  });
  expect(headers['x-rate-limit-remaining']).toBe('996');
});

test('429: refused with the headers of an empty window that still has room', async () => {
  const sandbox = await start({ name: '429', at: 1, retryAfterMs: 1500 });
  const { statusCode, headers, body } = await request(`${sandbox.url}/1.1/followers/ids.json?screen_name=alpha`, {
    headers: { authorization: 'Bearer secret' },
  });
  expect(await body.text()).toBe('{"errors":[{"message":"Rate limit exceeded","code":88}]}');
  expect([statusCode, headers['x-rate-limit-limit'], headers['x-rate-limit-remaining'], headers['retry-after']]).toEqual([
    429,
    '1000',
    '0',
    '2',
  ]);
  expect((await get()).status).toBe(200);
});

test('429 with a wait: the reset of the window is when the wait ends, by the clock of the service', async () => {
  const now = (): number => 1_900_000_000_400;
  running = await startFollowers({ now, faults: [{ name: '429', retryAfterMs: 1500 }] });
  const { headers } = await request(`${running.url}/1.1/followers/ids.json?screen_name=alpha`, {
    headers: { authorization: 'Bearer secret' },
  });
  expect([headers['retry-after'], headers['x-rate-limit-remaining'], headers['x-rate-limit-reset']]).toEqual(['2', '0', '1900000002']);
  const next = await request(`${running.url}/1.1/followers/ids.json?screen_name=alpha`, { headers: { authorization: 'Bearer secret' } });
  expect(next.headers['x-rate-limit-reset']).toBe('1900000900');
});

test('503: over capacity, or another 5xx', async () => {
  await start({ name: '503', at: 1 }, { name: '503', at: 2, status: 502 });
  expect(await get()).toMatchObject({ status: 503, text: '{"errors":[{"code":130,"message":"Over capacity"}]}' });
  expect((await get()).status).toBe(502);
});

test('html and html-503: HTML, with 200 and with 503', async () => {
  await start({ name: 'html', at: 1 }, { name: 'html-503', at: 2 });
  for (const status of [200, 503]) {
    const got = await get();
    expect([got.status, got.type, got.text.startsWith('<!DOCTYPE html>')]).toEqual([status, 'text/html;charset=utf-8', true]);
  }
});

test('cut: the connection ends before the length that was promised', async () => {
  await start({ name: 'cut', at: 2 });
  const whole = await get();
  expect(await failureOf(get())).toBe('UND_ERR_SOCKET');
  expect(await get()).toEqual(whole);
});

test('truncated: a whole answer whose JSON is half', async () => {
  await start({ name: 'truncated', at: 2 });
  const whole = await get();
  const got = await get();
  expect(got.text).toBe(whole.text.slice(0, Math.floor(whole.text.length / 2)));
  expect(() => JSON.parse(got.text)).toThrow(SyntaxError);
});

test('drip: the body comes byte by byte, whole in the end', async () => {
  const sandbox = await start({ name: 'drip', at: 2, intervalMs: 1 });
  const whole = await get();
  const { body } = await request(`${sandbox.url}/1.1/followers/ids.json?screen_name=alpha`, {
    headers: { authorization: 'Bearer secret' },
  });
  const chunks: Buffer[] = [];
  for await (const chunk of body) chunks.push(Buffer.from(chunk));
  expect(Buffer.concat(chunks).toString()).toBe(whole.text);
  expect(chunks.length).toBeGreaterThan(whole.text.length / 20);
});

test('drip: at the default interval nothing of use has come when the client gives up', async () => {
  await start({ name: 'drip', at: 1 });
  expect(await failureOf(get('-1', AbortSignal.timeout(150)))).toBe('23');
});

test('drip: it stops when the client goes', async () => {
  const written: ReturnType<typeof vi.spyOn>[] = [];
  const server = createServer((_, response) => {
    written.push(vi.spyOn(response, 'write'));
    deliver(response, jsonAnswer(200, '{"ids":[]}'.padEnd(100_000)), { name: 'drip', at: 1, intervalMs: 1 });
    response.once('close', () => closed.resolve());
  }).listen(0, '127.0.0.1');
  const closed = Promise.withResolvers<void>();
  await once(server, 'listening');
  const address = server.address();
  const { body } = await request(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  body.on('error', () => {});
  body.destroy();
  await closed.promise;
  const before = written[0]?.mock.calls.length;
  // oxlint-disable-next-line machine/no-sleep -- no event shows that nothing more is written
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(written[0]?.mock.calls.length).toBe(before);
  server.close();
});

test('hang: no answer, until the client gives up', async () => {
  const sandbox = await start({ name: 'hang', at: 1 });
  const client = new AbortController();
  const failed = failureOf(get('-1', client.signal));
  await expect.poll(() => sandbox.requests).toMatchObject([{ fault: 'hang', status: 0 }]);
  client.abort();
  expect(await failed).toBe('20');
  expect((await get()).status).toBe(200);
});

test('oversize: as many bytes as set, valid JSON all the same', async () => {
  await start({ name: 'oversize', at: 1, bytes: 3_000_000 });
  const got = await get();
  expect(got.text.length).toBeGreaterThan(3_000_000);
  expect(Object.keys(JSON.parse(got.text))).toEqual(expect.arrayContaining(['padding', 'ids', 'next_cursor']));
});

test('oversize: a client that does not read holds the server back, and one that goes ends it', async () => {
  const responses: ServerResponse[] = [];
  const server = createServer((_, response) => {
    responses.push(response);
    deliver(response, jsonAnswer(200, '{"ids":[]}'), { name: 'oversize', at: 1 });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const { body } = await request(`http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`);
  // The network's buffers fill first. Then the server must stop writing.
  const queued = responses[0]?.writableLength ?? Number.NaN;
  expect(queued).toBeGreaterThan(0);
  expect(queued).toBeLessThan(1_000_000);
  body.destroy();
  body.on('error', () => {});
  await new Promise((resolve) => responses[0]?.once('close', resolve));
  server.close();
  await once(server, 'close');
});

test('cursor-loop: the next cursor is one the walk has used already', async () => {
  await start({ name: 'cursor-loop', at: 4 });
  const asked: string[] = [];
  let cursor = '-1';
  while (!asked.includes(cursor)) {
    asked.push(cursor);
    const { text } = await get(cursor);
    expect(JSON.parse(text)).toHaveProperty('next_cursor_str');
    cursor = /"next_cursor":(\d+)/u.exec(text)?.[1] ?? '';
    expect(text).toContain(`"next_cursor_str":"${cursor}"`);
  }
  expect(asked.length).toBe(4);
  expect(cursor).toBe(asked[1]);
});

test('a refusal that is real is answered as such, and no fault is noted', async () => {
  agent = new Agent();
  running = await startFollowers({ window: { limit: 1 }, faults: [{ name: 'html', at: 2 }] });
  await get();
  expect((await get()).status).toBe(429);
  expect(running.requests.map(({ status, fault }) => [status, fault])).toEqual([
    [200, undefined],
    [429, undefined],
  ]);
});

test('the catalogue has every fault but the cursor loop, counted over its three addresses', async () => {
  await expect(startBooks({ faults: [{ name: 'cursor-loop', at: 1 }] })).rejects.toThrow("isn't available for this service");
  await using books = await startBooks({
    faults: [
      { name: '429', at: 2 },
      { name: '503', at: 3, status: 500 },
      { name: 'truncated', at: 4 },
    ],
  });
  const texts: string[] = [];
  for (const [index, base] of [books.url, books.urls.premium, books.urls.pro, books.urls.premium].entries()) {
    const response = await fetch(`${base}/author/A`, { headers: { authorization: `key-${index}` } });
    texts.push(`${response.status} ${(await response.text()).slice(0, 40)}`);
  }
  expect(texts.slice(1, 3)).toEqual(['429 {"message":"Limit Exceeded"}', '500 {"message":"Service Unavailable"}']);
  expect(books.requests.map(({ fault }) => fault)).toEqual([undefined, '429', '503', 'truncated']);
});

test('close ends hanging, dripping, streaming and idle connections at once, more than once', async () => {
  const sandbox = await start({ name: 'hang', at: 1 }, { name: 'drip', at: 2 }, { name: 'oversize', at: 3 });
  const socket = connect(Number(new URL(sandbox.url).port), '127.0.0.1');
  await once(socket, 'connect');
  const idle = once(socket, 'close');
  const busy = [failureOf(get()), failureOf(get()), failureOf(get())];
  while (sandbox.requests.length < 3) await new Promise((resolve) => setImmediate(resolve));
  await Promise.all([sandbox.close(), sandbox.close()]);
  await sandbox.close();
  socket.destroy();
  await idle;
  expect(await Promise.all(busy)).not.toContain('none');
  expect(await failureOf(get())).toBe('ECONNREFUSED');
});

test('close does not wait for latencies, and latencies are kept', async () => {
  agent = new Agent();
  running = await startFollowers({ latencyMs: { min: 40, max: 60 } });
  const startedMs = performance.now();
  await get();
  // oxlint-disable-next-line machine/no-machine-time -- a busy machine can only take longer
  expect(performance.now() - startedMs).toBeGreaterThan(35);
  const slow = await startFollowers({ latencyMs: 600_000 });
  const pending = failureOf(fetch(slow.url));
  // oxlint-disable-next-line machine/no-sleep -- the test passes whether the request arrives in this time or not
  await new Promise((resolve) => setTimeout(resolve, 30));
  await slow.close();
  expect(await pending).not.toBe('none');
});
