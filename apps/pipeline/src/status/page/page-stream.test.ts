import { type IncomingMessage, type OutgoingHttpHeaders, get } from 'node:http';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { type StatusServer, startStatusServer } from '../status-server.ts';
import type { RunView } from '../run-view.ts';
import { busyView } from './busy-view.fixture.ts';
import type { PageFrame } from './page-stream.ts';

interface Sent {
  readonly event: string;
  readonly data: { readonly version: string; readonly screen: Partial<PageFrame> };
}

interface Watching {
  readonly response: IncomingMessage;
  readonly events: Sent[];
  readonly isOver: () => boolean;
}

async function watch(server: StatusServer, query = '', headers: OutgoingHttpHeaders = {}): Promise<Watching> {
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    get(`${server.url}events${query}`, { headers, agent: false }, resolve).on('error', reject);
  });
  const events: Sent[] = [];
  let [text, isOver] = ['', false];
  response.on('error', () => undefined).on('close', () => (isOver = true));
  response.on('data', (chunk: Buffer) => {
    const blocks = (text + chunk.toString()).split('\n\n');
    text = blocks.pop() ?? '';
    for (const block of blocks) {
      const [, event, data] = /^event: (.*)\ndata: (.*)$/u.exec(block) ?? [];
      if (event !== undefined && data !== undefined) events.push({ event, data: JSON.parse(data) as Sent['data'] });
    }
  });
  return { response, events, isOver: () => isOver };
}

async function serve(view: () => RunView) {
  const clock = virtualClock();
  const options = {
    port: 0,
    host: '127.0.0.1',
    timeZone: 'UTC' as const,
    commandFor: (command: string, argument: string) => `headgate ${command} ${argument}`,
  };
  return { clock, server: await startStatusServer({ ...options, clock, view }) };
}

it('the stream sends the whole screen, then only changes, then the end', async () => {
  let view = busyView();
  let looks = 0;
  const { clock, server } = await serve(() => ((looks += 1), view));
  const page = await watch(server);
  const filtered = await watch(server, '?q=BETA');
  await expect.poll(() => [page.events.length, filtered.events.length]).toEqual([1, 1]);
  const jobs = (one: Watching, i: number) => one.events[i]?.data.screen.rows?.map(({ key }) => key);
  const request = (i: number) => `followers.requests-0-${i}`;
  // Working jobs come first, then failed ones, then those that are done.
  expect(jobs(page, 0)).toEqual([...[0, 1, 4, 5].map(request), 'books keys', ...[2, 3].map(request)]);
  expect(jobs(filtered, 0)).toEqual([request(1)]);
  expect(page.events[0]?.data.screen).toMatchObject({
    deadLetterLines: ['1 dead letter: headgate dead-letters followers', expect.stringMatching(/^followers: 3 dead letters are open/u)],
    retries: ['headgate replay followers'],
  });

  const [first, ...others] = view.work;
  if (first?.kind !== 'walk') throw new Error('no walk');
  view = { ...view, work: [...others.slice(0, 1), { ...first, pages: 413 }, ...others.slice(2)] };
  looks = 0;
  await clock.advance(1_000);
  await expect.poll(() => [page.events.length, filtered.events.length]).toEqual([2, 2]);
  expect(looks).toBe(1);
  expect(Object.keys(page.events[1]?.data.screen ?? {})).toEqual(['rows']);
  expect(jobs(page, 1)).toEqual([1, 0, 4, 5].map(request).concat('books keys', request(3)));
  expect(page.events[1]?.data.screen.rows?.[1]?.progress).toBe('413 of ~1,020 pages');
  expect(filtered.events[1]?.data.screen).toEqual({});

  view = { ...view, outcome: 'done' };
  await server.close();
  await expect.poll(() => [page.isOver(), filtered.isOver()]).toEqual([true, true]);
  expect(page.events.map(({ event }) => event)).toEqual(['page', 'page', 'page', 'end']);
  expect(page.events[2]?.data).toMatchObject({
    screen: { title: 'done, with 1 dead letter · headgate', state: { words: 'done, with 1 dead letter' } },
  });
  expect(clock.pending).toBe(0);
});

it('the stream costs nothing while no page is open', async () => {
  let looks = 0;
  const { clock, server } = await serve(() => ((looks += 1), busyView()));
  expect(clock.pending).toBe(0);
  const page = await watch(server);
  await expect.poll(() => page.events.length).toBe(1);
  expect(clock.pending).toBe(1);
  page.response.destroy();
  await expect.poll(() => clock.pending).toBe(0);
  looks = 0;
  await clock.advance(60_000);
  expect(looks).toBe(0);
  await server.close();
});

it('the stream accepts 24 pages, and another one when one has left', async () => {
  const { server } = await serve(() => busyView());
  const pages = await Promise.all(Array.from({ length: 24 }, async () => await watch(server)));
  expect(new Set(pages.map(({ response }) => response.statusCode))).toEqual(new Set([200]));
  expect((await watch(server)).response.statusCode).toBe(503);
  pages[0]?.response.destroy();
  await expect.poll(async () => (await watch(server)).response.statusCode).toBe(200);
  await server.close();
});

it('the stream sends at most one frame to a page that doesn’t read, gives it up after 30 s, and ends without it', async () => {
  const asOf = { n: 0 };
  // Each frame has 300 new rows, so that the buffers of a page that doesn't read fill up.
  const { clock, server } = await serve(() => {
    asOf.n += 1;
    const view = busyView({ requests: 300 });
    const doing = { state: 'retrying', at: view.now, reason: '503 '.repeat(100) } as const;
    return { ...view, work: view.work.map((row) => (row.kind === 'walk' ? { ...row, doing, request: `${row.request}-${asOf.n}` } : row)) };
  });
  const [slow, late, quick] = await Promise.all([1, 2, 3].map(async () => await watch(server, '?rows=300')));
  if (slow === undefined || late === undefined || quick === undefined) throw new Error('no page');
  for (const { response } of [slow, late]) response.pause();
  for (let i = 1; i <= 70; i += 1) {
    await clock.advance(1_000);
    await expect.poll(() => quick.events.length).toBe(1 + i);
    // By now, the buffers of the sockets are full.
    if (i === 30) late.response.resume();
  }
  slow.response.resume();
  await expect.poll(() => slow.isOver()).toBe(true);
  expect(slow.events.length).toBeLessThan(50);
  await server.close();
  await expect.poll(() => [late.isOver(), quick.isOver()]).toEqual([true, true]);
  expect([slow, late, quick].map(({ events }) => events.at(-1)?.event)).toEqual(['page', 'end', 'end']);
  expect(clock.pending).toBe(0);
});

it('the stream serves only its own page', async () => {
  const { server } = await serve(() => busyView());
  const asked = [{ host: 'evil.example' }, { 'sec-fetch-site': 'cross-site' }, { 'sec-fetch-site': 'same-origin' }].map(
    async (headers) => (await watch(server, '', headers)).response.statusCode,
  );
  expect(await Promise.all(asked)).toEqual([403, 403, 200]);
  await server.close();
});

it('the stream disconnects pages while the run can’t be read, and they reconnect', async () => {
  let isBroken = false;
  const { clock, server } = await serve(() => {
    if (isBroken) throw new Error('tok-7Gh2-never-shown');
    return busyView();
  });
  const page = await watch(server);
  isBroken = true;
  await clock.advance(1_000);
  await expect.poll(() => page.isOver()).toBe(true);
  expect((await watch(server)).response.statusCode).toBe(500);
  isBroken = false;
  expect((await watch(server)).response.statusCode).toBe(200);
  await server.close();
});

it('names from outside are one line of text, without characters that change the writing direction', async () => {
  const about = { ...busyView().about, config: 'a\u202Eb\n\u001B[31m<b>' };
  const { server } = await serve(() => busyView({ changed: { about } }));
  const page = await watch(server);
  await expect.poll(() => page.events.length).toBe(1);
  expect(page.events[0]?.data.screen.run?.[0]).toMatch(/^a\uFFFDb <b> -> /u);
  await server.close();
});
