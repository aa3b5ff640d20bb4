import { bearer } from '@headgate/auth';
import { defineSource, jsonBody, pageNumbers } from '@headgate/sources';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { topic } from '../topics/topic.ts';
import { topicSpecs } from '../topics/topics.ts';
import { leftToDo } from './left-to-do.ts';
import { forecast } from '../progress/forecast.ts';
import { limitedService } from '../testing/limited-service.fixture.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { doneInVirtualTime } from '../testing/virtual-time.ts';
import type { RunEvent } from '../events/events.ts';
import { walk } from '../jobs/walk.ts';
import { start } from './start.ts';

const WINDOW_MS = 60_000;
const names = ['berlin', 'paris', 'rome'] as const;

interface Query {
  readonly shop: string;
  readonly day: string;
  readonly page: number;
}

const source = defineSource<Query, readonly string[]>({
  service: 'orders',
  limit: { requests: 1, windowMs: WINDOW_MS },
  toRequest: ({ shop, day, page }) => ({ path: `/${shop}/${day}/${page}` }),
  classify(answer) {
    const body = jsonBody(answer, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: (body.value as { ids: string[] }).ids } : { kind: 'transient', reason: body.reason };
  },
  credentialsOf: ({ shop }) => [shop],
});

const definition = {
  name: 'orders',
  options: z.strictObject({ baseUrl: z.string(), jobs: z.array(z.string()) }),
  request: z.strictObject({ shop: z.string(), day: z.string() }),
  topics: { ids: topic({ value: z.string() }) },
  keyOf: ({ shop, day }: { shop: string; day: string }) => `${shop}/${day}`,
  listed: ({ jobs }: { jobs: string[] }) => jobs.map((job) => ({ shop: job.split('/')[0] ?? '', day: job.split('/')[1] ?? '' })),
  expect: () => 2,
} as const;

/** A pipeline whose jobs are days of a shop, each with two pages of orders. Each shop has its own token. */
const orders = definePipeline({
  ...definition,
  open: ({ baseUrl }, io) =>
    walk({
      source: source({ ...io, baseUrl, credentials: names.map((name) => ({ name, signer: bearer(`token-of-${name}`) })) }),
      paging: ({ shop, day }) =>
        pageNumbers<Query, readonly string[]>({ query: (page) => ({ shop, day, page }), isLast: (ids) => ids[0] === '2' }),
      records: (ids, { key, topics }) => ids.map((id) => topics.ids({ key, value: id })),
    }),
});

/** Oslo has no credential. */
const jobs = ['berlin/1', 'berlin/2', 'berlin/3', 'berlin/4', 'oslo/1', 'paris/1'];

test('each job is sent by its own credential, and an unknown one is a dead letter', async () => {
  const tokens = new Map<string, Set<string>>();
  await using service = await limitedService({ limit: 1_000, windowMs: 1 }, ({ pathname }, token) => {
    const [, shop = '', , page = ''] = pathname.split('/');
    tokens.set(shop, (tokens.get(shop) ?? new Set()).add(token));
    return { ids: [page] };
  });
  await using place = await temporaryLog();
  const { log } = place;
  const pipeline = orders({ baseUrl: service.url, jobs });
  await log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
  const clock = virtualClock();

  const [left] = await leftToDo({ log, pipelines: [pipeline], clock });
  const lanes = left?.lanes ?? [];
  expect(lanes[0]?.walks.map(({ key }) => key)).toEqual(jobs);
  const now = clock.epochMs();
  const windows = (ms: number): number => Math.round(ms / WINDOW_MS);
  // The forecast assumes that each credential may send all requests.
  expect({ ...forecast(lanes, { now }), inMs: windows(forecast(lanes, { now }).inMs) }).toEqual({ requests: 12, unknown: 0, inMs: 3 });

  const events: RunEvent[] = [];
  const running = await start({ log, pipelines: [pipeline], clock, onEvent: (event) => events.push(event) });
  await expect.poll(() => running.snapshot().work.filter(({ doing }) => doing?.state === 'waiting').length).toBe(5);
  expect(running.snapshot().work.flatMap(({ doing }) => (doing?.state === 'waiting' ? [doing.credentials?.join()] : []))).toEqual([
    'berlin',
    'berlin',
    'berlin',
    'berlin',
    'paris',
  ]);
  await doneInVirtualTime({ running, clock });
  const failed = events.flatMap((event) => (event.type === 'request-failed' ? [event] : []));
  expect(failed).toMatchObject([{ key: 'oslo/1', error: { code: 'HEADGATE_NO_CREDENTIAL' } }]);
  expect(windows(clock.epochMs() - now)).toBe(7);
  expect([...tokens]).toEqual([
    ['berlin', new Set(['Bearer token-of-berlin'])],
    ['paris', new Set(['Bearer token-of-paris'])],
  ]);
});

test('lanes are refused that would divide the credentials, because jobs are divided by their keys', async () => {
  const divided = definePipeline({
    ...definition,
    credentials: () => names.map((name) => ({ name })),
    open: ({ baseUrl }, io) =>
      walk({
        source: source({ ...io, baseUrl, credentials: io.credentials.map(({ name }) => ({ name, signer: bearer(name) })) }),
        paging: ({ shop, day }) => pageNumbers<Query, readonly string[]>({ query: (page) => ({ shop, day, page }), isLast: () => true }),
        records: () => [],
      }),
  });
  await using place = await temporaryLog();
  const pipelines = [divided({ baseUrl: 'http://127.0.0.1:1', jobs })];
  const message =
    "orders: its source has credentialsOf, so 2 lanes can't divide its credentials. Set lanes to 1, or remove credentials from its definition.";
  await expect(start({ log: place.log, pipelines, lanes: 2 })).rejects.toThrow(message);
});
