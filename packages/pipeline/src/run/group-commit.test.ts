import { bearer } from '@headgate/auth';
import { defineSource, jsonBody, pageNumbers } from '@headgate/sources';
import type { LaneTransaction, LaneWriter } from '@headgate/topics';
import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { topic } from '../topics/topic.ts';
import { topicSpecs } from '../topics/topics.ts';
import { limitedService } from '../testing/limited-service.fixture.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { walk } from '../jobs/walk.ts';
import { start } from './start.ts';

const PAGES = 15;
const TURNS = 1_000;
const AMPLE = { requests: 10_000, windowMs: 1_000 };

const source = defineSource<number, number>({
  service: 'numbers',
  limit: AMPLE,
  toRequest: (page) => ({ path: `/${page}` }),
  classify(answer) {
    const body = jsonBody(answer, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: (body.value as { page: number }).page } : { kind: 'transient', reason: body.reason };
  },
});

const numbers = definePipeline({
  name: 'numbers',
  options: z.strictObject({ baseUrl: z.string(), limit: z.custom<typeof AMPLE>() }),
  request: z.strictObject({}),
  topics: { pages: topic({ value: z.number() }) },
  keyOf: () => 'all',
  listed: () => [{}],
  open: ({ baseUrl, limit }, io) =>
    walk({
      source: source({ ...io, baseUrl, limit, credentials: [{ name: 'one', signer: bearer('token') }] }),
      paging: () => pageNumbers<number, number>({ query: (page) => page, isLast: (page) => page === PAGES }),
      records: (page, { key, topics }) => [topics.pages({ key, value: page })],
    }),
});

/** Walks all pages while each transaction takes some time. Returns the numbers of transactions, and of pages that weren't written yet. */
async function walked(more: Omit<Parameters<typeof numbers>[0], 'baseUrl'>) {
  let requested = 0;
  let written = 0;
  let mostUnwritten = 0;
  await using service = await limitedService({ limit: 10_000, windowMs: 1 }, ({ pathname }) => {
    requested += 1;
    mostUnwritten = Math.max(mostUnwritten, requested - written);
    return { page: Number(pathname.slice(1)) };
  });
  await using place = await temporaryLog();
  const pipeline = numbers({ baseUrl: service.url, ...more });
  await place.log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
  let withPage = 0;
  let withoutPage = 0;
  const log = logWith(place.log, {
    async openLane(spec, signal) {
      const writer = await place.log.openLane(spec, signal);
      if (spec.writes?.some(({ topic: name }) => name === 'numbers.pages') !== true) return writer;
      const transaction: LaneWriter['transaction'] = async (write) => {
        let pages = 0;
        await writer.transaction((tx) => {
          const append: LaneTransaction['append'] = (records) => {
            pages += [...records].length;
            tx.append(records);
          };
          write({ ...tx, append });
          if (pages > 0) withPage += 1;
          else withoutPage += 1;
        });
        // Leaves the run the time to request all that it may.
        for (let turn = 0; turn < TURNS && requested < PAGES; turn += 1) await new Promise(setImmediate);
        written += pages;
      };
      const close = async (): Promise<void> => await writer.close();
      return { state: writer.state, transaction, close, [Symbol.asyncDispose]: close };
    },
  });
  await using running = await start({ log, pipelines: [pipeline] });
  expect(await running.done).toMatchObject({ outcome: 'done', failures: [] });
  const pages: unknown[] = [];
  for await (const { value } of place.log.read({ topic: 'numbers.pages' })) pages.push(JSON.parse(value ?? 'null'));
  expect(pages).toEqual(Array.from({ length: PAGES }, (_, i) => i + 1));
  return { withPage, withoutPage, mostUnwritten };
}

test.each([
  ['15 requests in 15 minutes', { limit: { requests: 15, windowMs: 900_000 } }],
  ['499 requests in a second', { limit: { requests: 499, windowMs: 1_000 } }],
  ['an ample budget, and a setting', { limit: AMPLE, unwrittenPages: 1 }],
])('a page and the grant of the request after it are one transaction with %s', async (_, more) => {
  const { withoutPage, ...rest } = await walked(more);
  expect(rest).toEqual({ withPage: PAGES, mostUnwritten: 1 });
  // The transaction with the permit of the first request has no page, and the one that closes the lane, if a budget has changed since the last page.
  expect(withoutPage).toBeLessThanOrEqual(2);
});

test.each([
  ['500 requests in a second', { limit: { requests: 500, windowMs: 1_000 }, unwrittenPages: 8 }, 6],
  ['an ample budget', { limit: AMPLE }, 5],
  ['an ample budget, and the largest setting', { limit: AMPLE, unwrittenPages: 8 }, 8],
  ['an ample budget, and a setting', { limit: AMPLE, unwrittenPages: 3 }, 3],
  ['an ample budget, and credit for less', { limit: AMPLE, maxOutstanding: 4 }, 4],
])('up to some pages share a transaction with %s, and no more are requested', async (_, more, most) => {
  const { withPage, mostUnwritten } = await walked(more);
  expect(mostUnwritten).toBe(most);
  expect(withPage).toBeLessThan(PAGES);
});
