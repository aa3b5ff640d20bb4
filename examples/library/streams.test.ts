import { Writable } from 'node:stream';
import { gunzipSync } from 'node:zlib';
import { bearer } from '@headgate/auth';
import { type FollowersSandbox, startFollowers } from '@headgate/sandbox';
import { type Followers, followers } from '@headgate/sources/followers';
import { expect, test } from 'vitest';
import { gzippedFollowers } from './node-stream.ts';
import { followersResponse } from './web-stream.ts';

/** Number of pages, of 100 kB each. */
const PAGES = 20;
/** Maximum pages that are requested while nothing is read, because gzip and the streams buffer them. */
const BUFFERED = 8;

const service = (): Promise<FollowersSandbox> =>
  startFollowers({
    users: { alpha: { followers: PAGES * 5_000 } },
    window: { kind: 'rolling', limit: 10_000, windowMs: 1_000 },
  });

const sourceOf = ({ url }: FollowersSandbox): Followers =>
  followers({ baseUrl: url, credentials: [{ name: 'app', signer: bearer('token') }], limit: { requests: 10_000, windowMs: 1_000 } });

/** A source whose requests don't time out within an hour. Their abort signals are added to `signals`. */
function watchedSource({ url }: FollowersSandbox, signals: AbortSignal[]): Followers {
  return followers({
    baseUrl: url,
    credentials: [{ name: 'app', signer: bearer('token') }],
    timeoutMs: 3_600_000,
    fetch: async (address, init) => {
      if (init?.signal) signals.push(init.signal);
      return await fetch(address, init);
    },
  });
}

/** Gives requests plenty of time. The server and the crawl share this event loop. */
async function whileNobodyReads(): Promise<void> {
  for (let i = 0; i < 1_000; i += 1) await new Promise((resolve) => setImmediate(resolve));
}

test('node-stream: what is not written is not requested, and the file holds every id once', async () => {
  await using server = await service();
  await using api = sourceOf(server);
  const chunks: Buffer[] = [];
  let held: (() => void) | undefined;
  let isFull = true;
  const to = new Writable({
    write(chunk: Buffer, _encoding, callback) {
      chunks.push(chunk);
      if (isFull) held = callback;
      else callback();
    },
  });
  const written = gzippedFollowers({ api, screenName: 'alpha', to });
  await expect.poll(() => chunks.length).toBe(1);
  await whileNobodyReads();
  const requestedAhead = server.requests.length;
  isFull = false;
  held?.();
  await written;
  expect(requestedAhead).toBeLessThanOrEqual(BUFFERED);
  expect(gunzipSync(Buffer.concat(chunks)).toString().trim().split('\n')).toEqual(server.followersOf('alpha'));
  expect(server.requests).toHaveLength(PAGES);
});

test('node-stream: a signal ends it, and the request in flight', async () => {
  await using server = await startFollowers({ faults: [{ name: 'hang', at: 1 }] });
  const signals: AbortSignal[] = [];
  await using api = watchedSource(server, signals);
  const stop = new AbortController();
  const written = gzippedFollowers({ api, screenName: 'alpha', to: new Writable(), signal: stop.signal });
  const end = written.then(
    () => 'done',
    (error: unknown) => (error as Error).name,
  );
  await expect.poll(() => server.requests.length).toBe(1);
  stop.abort();
  await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true]);
  expect(await end).toBe('AbortError');
});

test('web-stream: a stream of pages requests none before it is read', async () => {
  await using server = await service();
  await using api = sourceOf(server);
  const reader = ReadableStream.from(api.pages({ screenName: 'alpha' })).getReader();
  await whileNobodyReads();
  expect(server.requests).toHaveLength(0);
  const read: unknown[] = [];
  for (const page of [1, 2, 3]) {
    read.push((await reader.read()).value?.page);
    await whileNobodyReads();
    expect(server.requests).toHaveLength(page);
  }
  expect(read).toEqual([1, 2, 3]);
  await reader.cancel();
});

test('web-stream: a response holds every id once', async () => {
  await using server = await service();
  await using api = sourceOf(server);
  const { body } = followersResponse({ api, screenName: 'alpha' });
  if (body === null) throw new Error('A response without a body.');
  const text = await new Response(body.pipeThrough(new DecompressionStream('gzip'))).text();
  expect(text.trim().split('\n')).toEqual(server.followersOf('alpha'));
  expect(server.requests).toHaveLength(PAGES);
});

test('web-stream: a client that stops reading stops the requests, and none follows when it leaves', async () => {
  await using server = await service();
  await using api = sourceOf(server);
  const reader = followersResponse({ api, screenName: 'alpha' }).body?.getReader();
  await reader?.read();
  await whileNobodyReads();
  const ahead = server.requests.length;
  expect(ahead).toBeLessThanOrEqual(BUFFERED);
  await reader?.cancel();
  await whileNobodyReads();
  expect(server.requests).toHaveLength(ahead);
});

test('web-stream: a client that leaves aborts the request in flight', async () => {
  await using server = await startFollowers({ faults: [{ name: 'hang', at: 1 }] });
  const signals: AbortSignal[] = [];
  await using api = watchedSource(server, signals);
  const { body } = followersResponse({ api, screenName: 'alpha' });
  await expect.poll(() => server.requests.length).toBe(1);
  await body?.cancel();
  await expect.poll(() => signals.map(({ aborted }) => aborted)).toEqual([true]);
});
