import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { catalogue, catalogueService } from '../testing/catalogue.fixture.ts';
import type { RunEvent } from '../events/events.ts';
import { leftToDo } from './left-to-do.ts';
import { replayDeadLetters } from './replay.ts';
import { start } from './start.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'headgate-pipeline-'));
});
afterEach(() => rm(folder, { recursive: true }));

const openLog = (): Promise<TopicLog> => sqliteTopicLog({ file: join(folder, 'log.db') });

async function values(log: TopicLog, topic: string): Promise<unknown[]> {
  const found: unknown[] = [];
  for await (const { value } of log.read({ topic })) found.push(JSON.parse(value ?? 'null'));
  return found;
}

test('walks every listed request once, with a record for each item', async () => {
  await using service = await catalogueService({ items: { a: 7, b: 2, c: 0 } });
  await using log = await openLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 'secret-token', shelves: ['a', 'b', 'c'] });
  await using running = await start({ log, pipelines: [pipeline] });
  const events: RunEvent[] = [];
  running.events.subscribe((event) => events.push(event));
  const { outcome, failures, snapshot } = await running.done;
  expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
  const items = (await values(log, 'catalogue.records')).map((value) => (value as { item: string }).item);
  expect(items.sort()).toEqual(['a-0', 'a-1', 'a-2', 'a-3', 'a-4', 'a-5', 'a-6', 'b-0', 'b-1']);
  expect(service.requests).toHaveLength(5);
  expect(snapshot.pipelines['catalogue']).toMatchObject({
    pages: 5,
    items: 9,
    walks: { started: 3, completed: 3, failed: 0 },
    attempts: { ok: 5 },
  });
  expect(events.filter(({ type }) => type === 'request-completed')).toHaveLength(3);

  await using again = await start({ log, pipelines: [pipeline] });
  await again.done;
  expect(service.requests).toHaveLength(5);
});

test('a program can list remaining work and replay dead letters with only the log and the pipeline', async () => {
  await using service = await catalogueService({ items: { a: 7 } });
  await using log = await openLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 'secret-token', shelves: ['a', 'gone'] });
  await using running = await start({ log, pipelines: [pipeline] });
  expect((await running.done).snapshot.pipelines['catalogue']).toMatchObject({ deadLetters: 1 });
  const walksLeft = async (): Promise<unknown> => {
    const [left] = await leftToDo({ log, pipelines: [pipeline] });
    return left?.lanes.map(({ walks }) => walks.map(({ key }) => key));
  };
  expect(await walksLeft()).toEqual([[]]);
  expect(await replayDeadLetters({ log, requests: pipeline.requests })).toEqual({ replayed: 1, left: 0 });
  expect(await walksLeft()).toEqual([['gone']]);
});

test('a service limit that differs from the configured one is reported once, with both numbers', async () => {
  const headers = { 'x-rate-limit-limit': '300', 'x-rate-limit-remaining': '299', 'x-rate-limit-reset': '1' };
  await using service = await catalogueService({ items: { a: 7, b: 2 }, headers });
  await using log = await openLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 'secret-token', shelves: ['a', 'b'] });
  const notices: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'notice') notices.push(event.message);
  };
  await using running = await start({ log, pipelines: [pipeline], onEvent });
  await running.done;
  expect(service.requests).toHaveLength(4);
  expect(notices).toEqual([expect.stringContaining('the service reports 300 requests in a window, but catalogue.limit is 1,000 in 1 s')]);
});

test('if a function of the definition throws, its request becomes one dead letter that names it, and no other request does', async () => {
  await using service = await catalogueService({ items: { a: 7, b: 2 } });
  await using log = await openLog();
  const failing = catalogue(({ items }) => {
    if (items.includes('a-4')) throw new TypeError('no such item');
  });
  await using running = await start({ log, pipelines: [failing({ baseUrl: service.baseUrl, token: 't', shelves: ['a', 'b', 'nosuch'] })] });
  const { outcome, snapshot } = await running.done;
  expect(outcome).toBe('done');
  expect(snapshot.pipelines['catalogue']).toMatchObject({ walks: { completed: 1, failed: 2 }, deadLetters: 2 });
  const deadLetters = (await values(log, 'catalogue.dead-letters')) as { request: { shelf: string } }[];
  expect(deadLetters.sort((one, other) => one.request.shelf.localeCompare(other.request.shelf))).toMatchObject([
    {
      request: { shelf: 'a' },
      error: {
        code: 'HEADGATE_USER_FUNCTION',
        message: expect.stringMatching(/^a: records of pipeline catalogue threw TypeError: no such item \(at .*start\.test/),
      },
    },
    { request: { shelf: 'nosuch' }, error: { code: 'HEADGATE_NO_SHELF' } },
  ]);
});

test('a stopped run continues at its page', async () => {
  await using service = await catalogueService({ items: { a: 30 } });
  await using log = await openLog();
  const stop = new AbortController();
  let pages = 0;
  const counted = catalogue(() => {
    pages += 1;
    if (pages === 4) stop.abort();
  });
  const options = { baseUrl: service.baseUrl, token: 't', shelves: ['a'] };
  await using first = await start({ log, pipelines: [counted(options)], signal: stop.signal });
  expect((await first.done).outcome).toBe('stopped');
  await using second = await start({ log, pipelines: [counted(options)] });
  const { outcome, snapshot } = await second.done;
  expect(outcome).toBe('done');
  // Pages and items include those of the first run.
  expect(snapshot.work).toMatchObject([{ key: 'a', pages: 10, items: 30 }]);
  expect(snapshot.progress).toMatchObject({ done: 6, left: 0 });
  expect(await values(log, 'catalogue.records')).toEqual(Array.from({ length: 30 }, (_, i) => ({ item: `a-${i}` })));
  expect(service.requests).toHaveLength(10);
});

test('a stop starts no further request while the log still owes the lane its jobs', async () => {
  await using service = await catalogueService({ items: { a: 3_000 } });
  await using own = await openLog();
  const owed = Promise.withResolvers<void>();
  let readings = 0;
  const log = logWith(own, {
    readBytes(options) {
      const reader = own.readBytes(options);
      // The first read finds the job. Later reads wait.
      if (options.topic !== 'catalogue.requests' || (readings += 1) === 1) return reader;
      const next = reader[Symbol.asyncIterator]().next.bind(reader);
      return Object.assign(reader, {
        next: async () => {
          await owed.promise;
          return await next();
        },
      });
    },
  });
  const stop = new AbortController();
  const stoppedAt = Promise.withResolvers<number>();
  const counted = catalogue(() => {
    if (readings < 2) return;
    stop.abort();
    stoppedAt.resolve(service.requests.length);
  });
  const pipelines = [counted({ baseUrl: service.baseUrl, token: 't', shelves: ['a'] })];
  await using running = await start({ log, pipelines, signal: stop.signal });
  const before = await stoppedAt.promise;
  // Give the run time to request more pages, in case it didn't stop.
  for (let turn = 0; turn < 100; turn += 1) await own.listTopics();
  owed.resolve();
  expect((await running.done).outcome).toBe('stopped');
  expect(service.requests.length).toBeLessThanOrEqual(before + 1);
});

test('a run whose credential is refused midway reports the remaining work', async () => {
  await using service = await catalogueService({ items: { a: 30, b: 30, c: 30 }, answers: 4 });
  await using log = await openLog();
  await using running = await start({ log, pipelines: [catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['a', 'b', 'c'] })] });
  const { outcome, snapshot } = await running.done;
  expect(outcome).toBe('failed');
  expect(snapshot.progress).toEqual({ done: 4, left: 3, isExact: false });
});

test('refuses the state of another requests topic, which would count requests of this one as finished', async () => {
  await using service = await catalogueService({ items: { a: 3, b: 3 } });
  await using log = await openLog();
  const pipelines = [catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['a'] })];
  await using first = await start({ log, pipelines });
  await first.done;
  // Append as another client does.
  await log.createTopics([{ name: 'social.shelves', partitions: 1 }]);
  await log.append(['b', 'b'].map((shelf) => ({ topic: 'social.shelves', key: shelf, value: JSON.stringify({ shelf }) })));
  const names = { 'catalogue.requests': 'social.shelves' };
  await expect(start({ log, pipelines, topics: { names } })).rejects.toMatchObject({
    code: 'HEADGATE_STATE_LOST',
    message: expect.stringContaining('catalogue.state has the progress of group "headgate" in catalogue.requests, but its jobs now come'),
  });
  await using renamed = await start({ log, pipelines, topics: { names: { ...names, 'catalogue.state': 'social.state' } } });
  expect((await renamed.done).outcome).toBe('done');
  const records = (await values(log, 'catalogue.records')) as { item: string }[];
  expect(records.filter(({ item }) => item.startsWith('b'))).toHaveLength(6);
});

test('accepts requests while it follows, and refuses an invalid one with its index', async () => {
  await using service = await catalogueService({ items: { a: 1, b: 1 } });
  await using log = await openLog();
  await using running = await start({ log, pipelines: [catalogue()({ baseUrl: service.baseUrl, token: 't' })], follow: true });
  const completed = Promise.withResolvers<void>();
  running.events.subscribe((event) => {
    if (event.type === 'request-completed' && event.key === 'b') completed.resolve();
  });
  await expect(running.enqueue('catalogue', [{ shelf: 'a' }, { shelf: 'No Word' }])).rejects.toThrow(
    /request 1 of catalogue: .*must be a word/,
  );
  await expect(running.enqueue('catalogue', { shelf: 'a' } as never)).rejects.toMatchObject({
    code: 'HEADGATE_INVALID_OPTION',
    message: 'enqueue: the requests of catalogue must be a list, such as [request].',
  });
  expect(await running.enqueue('catalogue', [{ shelf: 'b' }])).toEqual([expect.stringMatching(/^catalogue\.requests-0-\d+$/)]);
  await completed.promise;
  expect((await running.stop()).outcome).toBe('stopped');
  expect(await values(log, 'catalogue.records')).toEqual([{ item: 'b-0' }]);
});

test('a run with idle lanes looks for requests once a second, and more often after one has arrived', async () => {
  await using place = await temporaryLog();
  const virtual = virtualClock();
  const pauses = new Set<number>();
  const clock: VirtualClock = {
    ...virtual,
    schedule(delayMs, callback) {
      pauses.add(delayMs);
      return virtual.schedule(delayMs, callback);
    },
  };
  let looks = 0;
  let reads = 0;
  const log = logWith(place.log, {
    offsets(places, which) {
      looks += 1;
      return place.log.offsets(places, which);
    },
    readBytes(options) {
      if (options.topic === 'catalogue.requests') reads += 1;
      return place.log.readBytes(options);
    },
  });
  const stop = new AbortController();
  const pipeline = { ...catalogue()({ baseUrl: 'http://127.0.0.1:1', token: 't' }), credentials: ['one', 'two', 'three'] };
  await using running = await start({ log, pipelines: [pipeline], lanes: 3, clock, follow: true, signal: stop.signal });
  const afterMs = async (ms: number): Promise<number> => {
    const before = looks;
    for (let passed = 0; passed < ms; passed += 250) {
      await clock.advance(250);
      // oxlint-disable-next-line machine/no-sleep -- a read ends in real time; if reads take longer, there are fewer.
      await sleep(30);
    }
    return looks - before;
  };
  await expect.poll(async () => (await afterMs(250), pauses)).toContain(1_000);
  pauses.clear();
  const readBefore = reads;
  expect(await afterMs(10_000)).toBeLessThan(12);
  expect([reads - readBefore, [...pauses]]).toEqual([0, [1_000]]);
  const request = { topic: 'catalogue.requests', key: 'none', value: 'no JSON' };
  await log.append([request]);
  await expect.poll(async () => (await afterMs(250), running.snapshot().deadLetters.total)).toBe(1);
  await expect.poll(async () => (await afterMs(250), pauses)).toContain(500);
  stop.abort();
  await expect.poll(async () => (await afterMs(250), running.snapshot().lanes)).toEqual([]);
});

test('a binary request from another client becomes a dead letter that names its offset, and blocks nothing', async () => {
  await using service = await catalogueService({ items: { b: 1 } });
  await using log = await openLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['b'] });
  await log.createTopics([{ name: 'catalogue.requests', partitions: 1 }]);
  await log.append([{ topic: 'catalogue.requests', key: 'framed', value: Uint8Array.of(0, 0xff) }]);
  await using running = await start({ log, pipelines: [pipeline] });
  const { outcome, failures, snapshot } = await running.done;
  expect({ outcome, failures }).toEqual({ outcome: 'done', failures: [] });
  expect(snapshot.pipelines['catalogue']).toMatchObject({ walks: { completed: 1 }, deadLetters: 1 });
  expect(await values(log, 'catalogue.dead-letters')).toMatchObject([
    {
      request: null,
      requestBase64: 'AP8=',
      error: { code: 'HEADGATE_INVALID_RECORD', message: expect.stringMatching(/offset 0 of topic "catalogue\.requests"/) },
    },
  ]);
});

test('a signal interrupts a start that is waiting for its log', async () => {
  await using log = await openLog();
  const waiting = logWith(log, { joinGroup: () => new Promise(() => undefined) });
  const stop = new AbortController();
  const started = start({ log: waiting, pipelines: [catalogue()({ baseUrl: 'http://127.0.0.1:9', token: 't' })], signal: stop.signal });
  stop.abort(new Error('enough'));
  await expect(started).rejects.toThrow('enough');
});

test('an error thrown by onEvent does no harm and is reported once', async () => {
  await using service = await catalogueService({ items: { a: 3 } });
  await using log = await openLog();
  let told = 0;
  await using running = await start({
    log,
    pipelines: [catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['a', 'b'] })],
    onEvent() {
      told += 1;
      throw new Error('no room for it');
    },
  });
  const events: RunEvent[] = [];
  running.events.subscribe((event) => events.push(event));
  expect(await running.done).toMatchObject({ outcome: 'done', failures: [] });
  expect(told).toBe(events.length);
  expect(events.filter(({ type }) => type === 'notice')).toEqual([
    { type: 'notice', level: 'warn', message: expect.stringMatching(/^onEvent threw Error: no room for it/) as string },
  ]);
  expect(await values(log, 'catalogue.records')).toHaveLength(3);
});
