import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { type Shelf, type ShelvesApi, shelvesApi, shelvesTopics, valuesOf } from '../testing/shelves.fixture.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { start } from '../run/start.ts';
import { lookup } from './lookup.ts';
import { route } from './route.ts';
import { split } from './split.ts';

/** Looks up words. A job with several, joined by +, becomes jobs of one word. */
function words(api: ShelvesApi, { makesRequests = true, into = ({ shelf }: Shelf): unknown => shelf.split('+') } = {}) {
  return definePipeline({
    name: 'words',
    options: z.strictObject({}),
    request: z.strictObject({ shelf: z.string() }),
    topics: shelvesTopics,
    makesRequests,
    keyOf: ({ shelf }) => shelf,
    open: () =>
      route((job: Shelf) => [/^[a-z]$/.test(job.shelf) ? 'one' : 'many', job], {
        many: split((job) => (into(job) as readonly string[]).map((shelf) => ({ shelf }))),
        one: lookup<ShelvesApi, Shelf, string[], typeof shelvesTopics>({
          source: api,
          key: ({ shelf }) => shelf,
          query: (source, keys, options) => source.find(keys, options),
          size: 2,
          records: (answers, { topics }) => ({
            records: answers.map((item, index) => ({ index, record: topics.records({ key: item, value: { item } }) })),
          }),
        }),
      }),
  })({});
}

async function worked(pipeline: ReturnType<typeof words>, jobs: readonly string[]) {
  const place = await temporaryLog();
  const running = await start({ log: place.log, pipelines: [pipeline], follow: true });
  await running.enqueue(
    'words',
    jobs.map((shelf) => ({ shelf })),
  );
  await expect.poll(() => running.snapshot().lanes).toMatchObject([{ inWork: 0, behind: 0 }]);
  await expect
    .poll(async () => (await place.log.groupOffset({ group: 'headgate', topic: 'words.requests', partition: 0 })) ?? 0)
    .toBeGreaterThan(0);
  return { place, running };
}

test('a job of many keys becomes jobs of one key, which share HTTP requests; a job of none is finished', async () => {
  const api = shelvesApi();
  const { place, running } = await worked(words(api, { into: ({ shelf }) => (shelf === '' ? [] : shelf.split('+')) }), ['a+b+c', 'd', '']);
  await using _ = place;
  await expect.poll(async () => (await valuesOf(place.log, 'words.records')).length).toBe(4);
  expect(await running.stop()).toMatchObject({ failures: [] });
  expect(api.requested.join('+').split('+').toSorted()).toEqual(['a', 'b', 'c', 'd']);
  const jobs = await Array.fromAsync(place.log.read({ topic: 'words.requests' }));
  expect(jobs.map(({ key }) => key)).toEqual(['a+b+c', 'd', '', 'a', 'b', 'c']);
  expect(jobs.slice(3).map(({ headers }) => headers['ce_id'])).toEqual(['job', 'job/1', 'job/2'].map((id) => `words.requests-0-0/${id}`));
});

test.each([
  [
    'throws',
    {
      into: () => {
        throw new TypeError('boom');
      },
    },
    /split of pipeline words threw TypeError: boom/,
  ],
  ['needs makesRequests', { makesRequests: false }, /topics\.requests needs `makesRequests: true`/],
])('a job whose split %s is a dead letter, and nothing is requested', async (_, options, says) => {
  const api = shelvesApi();
  const { place, running } = await worked(words(api, options), ['a+b']);
  await using __ = place;
  await expect.poll(async () => (await valuesOf(place.log, 'words.dead-letters')).length).toBe(1);
  await running.stop();
  expect(await valuesOf(place.log, 'words.dead-letters')).toMatchObject([
    { request: { shelf: 'a+b' }, error: { message: expect.stringMatching(says) } },
  ]);
  expect(api.requested).toEqual([]);
});
