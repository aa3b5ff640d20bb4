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

const PAGES = 30;

const source = defineSource<number, number>({
  service: 'numbers',
  limit: { requests: 10_000, windowMs: 1 },
  toRequest: (page) => ({ path: `/${page}` }),
  classify(answer) {
    const body = jsonBody(answer, JSON.parse);
    return body.kind === 'json' ? { kind: 'ok', value: (body.value as { page: number }).page } : { kind: 'transient', reason: body.reason };
  },
});

const numbers = definePipeline({
  name: 'numbers',
  options: z.strictObject({ baseUrl: z.string() }),
  request: z.strictObject({}),
  topics: { pages: topic({ value: z.number() }) },
  keyOf: () => 'all',
  listed: () => [{}],
  open: ({ baseUrl }, io) =>
    walk({
      source: source({ ...io, baseUrl, credentials: [{ name: 'one', signer: bearer('token') }] }),
      paging: () => pageNumbers<number, number>({ query: (page) => page, isLast: (page) => page === PAGES }),
      records: (page, { key, topics }) => [topics.pages({ key, value: page })],
    }),
});

test('a page and the grant of the request after it are one transaction', async () => {
  await using service = await limitedService({ limit: 10_000, windowMs: 1 }, ({ pathname }) => ({ page: Number(pathname.slice(1)) }));
  await using place = await temporaryLog();
  const pipeline = numbers({ baseUrl: service.url });
  await place.log.createTopics(topicSpecs([pipeline], { lanes: 1, names: topicNames() }));
  let withPage = 0;
  let withoutPage = 0;
  const log = logWith(place.log, {
    async openLane(spec, signal) {
      const writer = await place.log.openLane(spec, signal);
      if (spec.writes?.some(({ topic: name }) => name === 'numbers.pages') !== true) return writer;
      const transaction: LaneWriter['transaction'] = async (write) =>
        await writer.transaction((tx) => {
          let hasPage = false;
          const append: LaneTransaction['append'] = (records) => {
            hasPage = true;
            tx.append(records);
          };
          write({ ...tx, append });
          if (hasPage) withPage += 1;
          else withoutPage += 1;
        });
      return new Proxy(writer, { get: (target, name) => (name === 'transaction' ? transaction : Reflect.get(target, name)) });
    },
  });
  await using running = await start({ log, pipelines: [pipeline] });
  await running.done;
  // Two transactions have no page: the one with the permit of the first request, and the one that closes the lane.
  expect({ withPage, withoutPage }).toEqual({ withPage: PAGES, withoutPage: 2 });
});
