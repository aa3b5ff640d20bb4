import { bearer } from '@headgate/auth';
import { followers } from '@headgate/sources/followers';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Answer, itemsSection, loggingService, stepped, steppedClock, steppedRun } from './stepped-run.fixture.ts';

const ITEMS = [{ id: 1 }, { id: 2 }];

beforeEach(() => {
  vi.spyOn(Math, 'random').mockReturnValue(0.5);
});
afterEach(() => {
  vi.restoreAllMocks();
});

/** Runs a listing that is refused with each of these answers in turn before it succeeds. Returns the waits between its requests, in ms. */
async function waitsAfter(
  refusals: readonly (Answer | ((nowMs: number) => Answer))[],
  { epochMs, retryFor = '60s' }: { readonly epochMs?: number; readonly retryFor?: string } = {},
) {
  const clock = steppedClock(epochMs);
  const answer = (_: unknown, number: number): Answer => {
    const refusal = refusals[number - 1] ?? { body: ITEMS };
    return typeof refusal === 'function' ? refusal(clock.epochMs()) : refusal;
  };
  await using service = await loggingService({ clock, answer });
  const run = await steppedRun({ clock, services: [service], pipelines: [itemsSection(service.url, { retryFor })] });
  expect(run.outcome).toBe('done');
  expect(run.deadLetters('shop')).toEqual([]);
  expect(run.records('shop.items').map(({ value }) => value)).toEqual(ITEMS);
  expect(service.arrivals).toHaveLength(refusals.length + 1);
  return service.arrivals.slice(1).map(({ at }, i) => at - (service.arrivals[i]?.at ?? 0));
}

const four = (answer: Answer): readonly Answer[] => Array.from({ length: 4 }, () => answer);
const busy = (retryAfter?: string): Answer => ({
  status: 503,
  ...(retryAfter !== undefined && { headers: { 'retry-after': retryAfter } }),
});

// https://github.com/363045841/KLineChartQuant/pull/186
describe('a Retry-After', () => {
  it('that is no wait counts as absent, whatever the clock says', async () => {
    const ordinary = await waitsAfter([busy()]);
    for (const text of ['-5', '-1', '2001-04-30', '5 apples', '']) expect([text, await waitsAfter([busy(text)])]).toEqual([text, ordinary]);
    expect(await waitsAfter([busy('-5')], { epochMs: Date.parse('1970-01-01T00:01:00Z') })).toEqual(ordinary);
  });

  it('in seconds is waited', async () => {
    expect(await waitsAfter([busy('2')])).toEqual([2_000]);
  });

  it('that is a date is waited', async () => {
    expect(await waitsAfter([(nowMs) => busy(new Date(nowMs + 3_000).toUTCString())])).toEqual([3_000]);
  });
});

// https://github.com/openai/openai-java/pull/878
describe('a Retry-After that is over', () => {
  it.each([
    [503, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
    [429, { 'retry-after': 'Wed, 21 Oct 2015 07:28:00 GMT' }],
    [503, { 'retry-after': '-1' }],
    [503, { 'retry-after-ms': '-1' }],
  ])('fails no page of a listing: %i with %j', async (status, headers) => {
    const clock = steppedClock();
    const seen = new Set<string>();
    const answer = ({ query }: { readonly query: URLSearchParams }): Answer => {
      const cursor = query.get('cursor') ?? '';
      if (seen.size === seen.add(cursor).size) {
        return { body: cursor === '' ? { data: ITEMS, next: 'p2' } : { data: [{ id: 3 }], next: null } };
      }
      return { status, headers };
    };
    await using service = await loggingService({ clock, answer });
    const pages = { cursor: '$.next', as: { query: 'cursor' } };
    const streams = { items: { get: '/items', key: '$.id', records: '$.data[*]', pages } };
    const run = await steppedRun({ clock, services: [service], pipelines: [itemsSection(service.url, { retryFor: '60s', streams })] });
    expect(run.outcome).toBe('done');
    expect(service.arrivals.map(({ query }) => query.get('cursor'))).toEqual([null, null, 'p2', 'p2']);
    expect(run.records('shop.items').map(({ value }) => value)).toEqual([...ITEMS, { id: 3 }]);
    expect(run.endedAt).toBeLessThan(30_000);
    expect(run.deadLetters('shop')).toEqual([]);
    expect(JSON.stringify(run.events)).not.toMatch(/invalid|NaN|RangeError|TypeError/);
  });
});

// https://github.com/pydantic/pydantic-ai/pull/7073
describe('a negative Retry-After', () => {
  it('is followed by the ordinary waits, which grow, whatever the random number', async () => {
    for (const random of [0, 0.5, 0.999]) {
      vi.mocked(Math.random).mockReturnValue(random);
      const [waits, ordinary] = [
        await waitsAfter(four(busy('-1')), { retryFor: '2m' }),
        await waitsAfter(four(busy()), { retryFor: '2m' }),
      ];
      expect(waits).toEqual(ordinary);
      expect(waits.toSorted((one, other) => one - other)).toEqual(waits);
      expect(Math.min(...waits)).toBeGreaterThanOrEqual(50);
      expect(waits[3]).toBeGreaterThan(waits[0] ?? 0);
    }
  });

  it('lengthens no retries of a program that retries for 5 s', async () => {
    const attempts = async (headers: Answer['headers'] = {}) => {
      const clock = steppedClock();
      await using service = await loggingService({ clock, answer: () => ({ status: 503, headers }) });
      const limit = { requests: 1_000, windowMs: 1_000 };
      const options = {
        baseUrl: service.url,
        credentials: [{ name: 'app', signer: bearer('t') }],
        limit,
        retryForMs: 5_000,
        env: {},
        clock,
      };
      await using source = followers(options);
      const walked = source.pages({ screenName: 'alpha' }).forEach(() => undefined);
      const error = await stepped(
        clock,
        () => service.isBusy || source.gauges().queries.some(({ state }) => state === 'requesting'),
        walked,
      );
      return { error, endedAt: clock.monotonicMs(), requests: service.arrivals.length };
    };
    const [tried, ordinary] = [await attempts({ 'retry-after': '-1' }), await attempts()];
    expect(tried.requests).toBe(ordinary.requests);
    expect(tried.endedAt).toBe(5_000);
    expect(tried.error).toMatchObject({ code: 'HEADGATE_GAVE_UP', message: expect.stringContaining('503') });
  });

  // A pipeline doesn't give up a job because its service is down.
  it('lengthens no wait of a pipeline, and its only job fails after its time', async () => {
    const attempts = async (headers: Answer['headers'] = {}) => {
      const clock = steppedClock();
      await using service = await loggingService({ clock, answer: () => ({ status: 503, headers }) });
      const pipelines = [itemsSection(service.url, { retryFor: '5s' })];
      const run = await steppedRun({ clock, services: [service], pipelines, stopAfterMs: 60_000 });
      return { run, requests: service.arrivals.length, lastAt: service.arrivals.at(-1)?.at };
    };
    const [{ run, requests, lastAt }, ordinary] = [await attempts({ 'retry-after': '-1' }), await attempts()];
    expect(requests).toBe(ordinary.requests);
    expect(lastAt).toBeLessThan(20_000);
    expect(run.deadLetters('shop')).toMatchObject([{ code: 'HEADGATE_GAVE_UP', message: expect.stringContaining('503') }]);
  });
});

// https://github.com/open-telemetry/opamp-go/pull/283
describe('a wait that is over', () => {
  it.each([60_000, 0])('replaces the wait of the response before it: a date %i ms ago', async (agoMs) => {
    const over = (nowMs: number): Answer => busy(new Date(nowMs - agoMs).toUTCString());
    const [first = 0, second = 0] = await waitsAfter([busy('8'), over], { retryFor: '2m' });
    expect(first).toBe(8_000);
    expect(second).toBeLessThan(5_000);
  });
});
