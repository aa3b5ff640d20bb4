import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { catalogue, catalogueService } from '../testing/catalogue.fixture.ts';
import type { RunEvent } from '../events/events.ts';
import { type Running, start } from './start.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';

const OUTAGE_MS = 20 * 60_000;
const shelves = Array.from({ length: 20 }, (_, i) => `shelf${String.fromCharCode(97 + i)}`);

/**
 * Returns a function that advances the clock until `isOver` is true, but not while a request is in flight or its response is being written.
 */
function pacer(clock: ReturnType<typeof virtualClock>, running: Running): (isOver: () => boolean) => Promise<void> {
  const isRequesting = (): boolean =>
    running.snapshot().work.some(({ doing }) => doing?.state === 'requesting' || doing?.state === 'writing');
  return async (isOver) => {
    await expect
      .poll(
        async () => {
          const { retryAt = 0 } = running.snapshot().pipelines['catalogue']?.failing ?? {};
          if (!isRequesting()) await clock.advance(Math.max(500, retryAt - clock.epochMs()));
          return isOver();
        },
        { interval: 0 },
      )
      .toBe(true);
  };
}

test('an outage longer than retryFor costs one request every 15 to 30 s and no dead letter', async () => {
  await using service = await catalogueService({ items: Object.fromEntries(shelves.map((shelf) => [shelf, 7])) });
  await using place = await temporaryLog();
  const { log } = place;
  const clock = virtualClock();
  const events: RunEvent[] = [];
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves });
  service.isDown = true;
  await using running = await start({ log, pipelines: [pipeline], clock, onEvent: (event) => void events.push(event) });
  const pace = pacer(clock, running);
  const from = clock.epochMs();
  await pace(() => running.snapshot().pipelines['catalogue']?.failing?.waiting === 20);
  const { failing } = running.snapshot().pipelines['catalogue'] ?? {};
  expect(failing).toMatchObject({ attempts: service.requests.length });
  expect(running.snapshot().work.map(({ doing }) => doing)).toEqual(
    shelves.map(() => ({ state: 'waiting', for: 'service', until: failing?.retryAt })),
  );
  await pace(() => clock.epochMs() - from > OUTAGE_MS);
  expect(service.requests.length).toBeLessThan(20 + 10 + OUTAGE_MS / 15_000);
  expect(events.filter(({ type }) => type === 'dead-letter' || type === 'request-failed')).toEqual([]);
  service.isDown = false;
  const told = (type: string) => events.filter((event) => event.type === type);
  await pace(() => told('request-completed').length === 20);
  expect(told('service-unavailable')).toHaveLength(1);
  expect(told('service-available')).toMatchObject([{ since: failing?.since }]);
  await pace(() => running.snapshot().lanes.every(({ inWork }) => inWork === 0));
  const records: string[] = [];
  for await (const { value } of log.read({ topic: 'catalogue.records' })) records.push((JSON.parse(value ?? '') as { item: string }).item);
  expect(records.toSorted()).toEqual(shelves.flatMap((shelf) => Array.from({ length: 7 }, (_, i) => `${shelf}-${i}`)).toSorted());
  expect(running.snapshot().pipelines['catalogue']?.failing).toBeUndefined();
});

test('a stop during an outage is immediate, and the next run waits for the outage to end', async () => {
  await using service = await catalogueService({ items: Object.fromEntries(shelves.map((shelf) => [shelf, 7])) });
  await using place = await temporaryLog();
  const { log } = place;
  const clock = virtualClock();
  const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves });
  service.isDown = true;
  const first = await start({ log, pipelines: [pipeline], clock });
  await pacer(clock, first)(() => (first.snapshot().pipelines['catalogue']?.failing?.waiting ?? 0) >= 19);
  const stoppedAt = clock.epochMs();
  expect((await first.stop()).outcome).toBe('stopped');
  expect(clock.epochMs()).toBe(stoppedAt);

  await using second = await start({ log, pipelines: [pipeline], clock });
  const pace = pacer(clock, second);
  await pace(() => clock.epochMs() - stoppedAt > OUTAGE_MS);
  service.isDown = false;
  await pace(() => second.snapshot().pipelines['catalogue']?.walks.completed === 20);
  expect(second.snapshot().deadLetters.total).toBe(0);
});
