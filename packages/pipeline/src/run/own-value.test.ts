import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { topicNames } from '../topics/names.ts';
import { replayDeadLetters } from './replay.ts';
import { type ItemsPage, type ShelfQuery, shelfPaging, shelvesApi, shelvesTopics, valuesOf } from '../testing/shelves.fixture.ts';
import { start } from './start.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import type { Processor } from '../definition/processor.ts';
import { walk } from '../jobs/walk.ts';

/** The output has BigInts, which JSON can't represent, and parsing the output again would change `note`. */
const request = z.strictObject({ ids: z.array(z.string().transform(BigInt)).min(1), note: z.string().transform((text) => `<${text}>`) });
type Request = z.output<typeof request>;
type Topics = typeof shelvesTopics;

const pipelineOf = (open: () => Processor<Request, Topics>, requests: readonly z.input<typeof request>[]) =>
  definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request,
    topics: shelvesTopics,
    keyOf: ({ ids }) => String(ids[0]),
    listed: () => requests,
    open,
  })({});

const REQUESTS = ['7', '8', '9'].map((id) => ({ ids: [id, `${id}0`], note: 'n' }));
const letterJobs = async (log: Parameters<typeof valuesOf>[0]): Promise<unknown[]> =>
  (await valuesOf<{ request: unknown }>(log, 'shelves.dead-letters')).map((deadLetter) => deadLetter.request);

test('the dead letter of a walk contains the request exactly as in the topic, and does not end the lane', async () => {
  await using place = await temporaryLog();
  const { log } = place;
  let isMended = false;
  const work = (): Processor<Request, Topics> =>
    walk<ShelfQuery, ItemsPage, number, Request, Topics>({
      source: shelvesApi(),
      paging: ({ ids }) => shelfPaging({ shelf: String(ids[0]) }),
      records({ shelf, items }, { topics, page, request: { note } }) {
        if (shelf === '8' && page === 2 && !isMended) throw new Error('boom');
        return items.map((item) => topics.records({ key: shelf, value: { item: `${item} ${note}` } }));
      },
    });
  const run = async () => await (await start({ log, pipelines: [pipelineOf(work, REQUESTS)] })).done;
  expect(await run()).toMatchObject({ outcome: 'done', failures: [] });
  expect(await letterJobs(log)).toEqual([REQUESTS[1]]);
  isMended = true;
  const { definition } = pipelineOf(work, []);
  expect(await replayDeadLetters({ log, requests: definition.requests, names: topicNames() })).toMatchObject({ replayed: 1, left: 0 });
  expect(await run()).toMatchObject({ outcome: 'done', failures: [] });
  const items = (await valuesOf<{ item: string }>(log, 'shelves.records')).map(({ item }) => item);
  expect(items.filter((item) => item.startsWith('8'))).toEqual([0, 1, 2, 3, 4].map((i) => `8-${i} <n>`));
});
