import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { catalogue, catalogueService } from './catalogue.fixture.ts';
import { start } from '../run/start.ts';
import { temporaryLog } from './temporary-log.fixture.ts';
import { doneInVirtualTime } from './virtual-time.ts';

const WINDOW_MS = 900_000;
const PERIOD_MS = 6 * 3_600_000;

test('time skips to the next window as soon as every walk waits for it', async () => {
  const clock = virtualClock();
  await using service = await catalogueService({ items: { a: 9, b: 9, c: 9 } });
  await using place = await temporaryLog();
  const options = { baseUrl: service.baseUrl, token: 't', shelves: ['a', 'b', 'c'], limit: { requests: 2, windowMs: WINDOW_MS } };
  const times: number[] = [];
  const pipeline = catalogue(() => times.push(clock.monotonicMs()))(options);
  await using running = await start({ log: place.log, pipelines: [pipeline], clock });
  expect((await doneInVirtualTime({ running, clock })).outcome).toBe('done');
  expect(service.requests).toHaveLength(9);
  // Nine pages, two per window: the last page is in the fifth window, and before the sixth begins.
  expect(times.at(-1)).toBeGreaterThanOrEqual(4 * WINDOW_MS);
  expect(times.at(-1)).toBeLessThan(5 * WINDOW_MS);
});

test('time skips to the next due list as soon as there is nothing to do', async () => {
  const clock = virtualClock();
  await using service = await catalogueService({ items: { a: 1 } });
  await using place = await temporaryLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['a'], every: '6h' });
  const stop = new AbortController();
  const times: number[] = [];
  await using running = await start({
    log: place.log,
    pipelines: [pipeline],
    clock,
    follow: true,
    signal: stop.signal,
    onEvent({ type }) {
      if (type === 'request-completed' && times.push(clock.monotonicMs()) === 4) stop.abort();
    },
  });
  expect((await doneInVirtualTime({ running, clock })).outcome).toBe('stopped');
  for (const [i, time] of times.entries()) {
    expect(time).toBeGreaterThanOrEqual(i * PERIOD_MS);
    expect(time).toBeLessThan(i * PERIOD_MS + 3_600_000);
  }
});

test('a request without a response times out and is retried', async () => {
  const clock = virtualClock();
  await using service = await catalogueService({ items: { a: 3 }, silent: 1 });
  await using place = await temporaryLog();
  const options = { baseUrl: service.baseUrl, token: 't', shelves: ['a'], timeout: 200 };
  await using running = await start({ log: place.log, pipelines: [catalogue()(options)], clock });
  expect((await doneInVirtualTime({ running, clock })).outcome).toBe('done');
  expect(service.requests.length).toBeGreaterThan(1);
});

test('time ends with a run that rejects, with its error', async () => {
  const clock = virtualClock();
  await using service = await catalogueService({ items: { a: 1 } });
  await using place = await temporaryLog();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves: ['a'] });
  await using running = await start({ log: place.log, pipelines: [pipeline], clock });
  const rejecting = { ...running, done: running.done.then(() => Promise.reject(new Error('boom'))) };
  await expect(doneInVirtualTime({ running: rejecting, clock })).rejects.toThrow('boom');
});
