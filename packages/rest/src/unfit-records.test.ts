import { dismissDeadLetters, openDeadLetters, replayDeadLetters, start } from '@headgate/pipeline';
import { expect, it } from 'vitest';
import { type ApiOptions, startApi } from './api.fixture.ts';
import { type Section, bearer, some } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();

type Stream = NonNullable<Section['streams']>[string];
type Answer = ApiOptions['routes'][string];

/** A stream `items` in a log of its own, whose section can be corrected between two runs. */
async function unfit(answer: Answer) {
  const share = shareOfLog();
  const api = await startApi({ routes: { 'GET /items': answer } });
  const names = (topic: string): string => share.topics.prefix + topic;
  const where = { log: share.log, group: share.group, names, pipeline: 'api' };
  const pipelineOf = (stream: Partial<Stream>) =>
    rest('api')({
      ...bearer,
      baseUrl: api.url,
      streams: { items: { get: '/items', key: '$.id', ...stream } },
    });
  return {
    since: () => api.answered.map(({ query }) => query.get('since')),
    async run(stream: Partial<Stream>, adds = true) {
      await using running = await start({ ...share, pipelines: [pipelineOf(stream)] });
      if (adds) await running.enqueue('api', [{ stream: 'items' }]);
      const { failures, snapshot } = await running.done;
      expect(failures).toEqual([]);
      return snapshot.deadLetters.total;
    },
    records: async () =>
      (await Array.fromAsync(share.log.read({ topic: names('api.items') }))).map(({ key, value }) => [key, JSON.parse(value ?? '')]),
    open: async () => (await Array.fromAsync(openDeadLetters(where))).map(({ code, message }) => `${code} ${message}`),
    replay: async () => await replayDeadLetters({ ...where, requests: pipelineOf({}).requests }),
    dismiss: async () => await dismissDeadLetters(where),
    [Symbol.asyncDispose]: async () => await api[Symbol.asyncDispose](),
  };
}

const since: Partial<Stream> = { query: { since: '{since}' }, since: { from: '$.updated_at' } };
const times = some(6).map(({ updated_at: at }) => at);
const from = <Item extends { readonly updated_at?: string | undefined }>(items: readonly Item[], at: string | null): readonly Item[] =>
  items.filter(({ updated_at: own }) => own === undefined || own >= (at ?? ''));

it('a renamed field fails the listing at its page, and the replay with the new name writes the changes', async () => {
  let items: { id?: number; uid?: number; updated_at: string }[] = some(2);
  await using place = await unfit(({ query }) => ({ body: from(items, query.get('since')) }));
  await place.run(since, false);
  items = some(4).map(({ id: uid, updated_at }) => ({ uid, updated_at: updated_at.replace('2024', '2025') }));
  expect(await place.run(since)).toBe(1);
  const [letter] = await place.open();
  expect(letter).toMatch(/^HEADGATE_INVALID_RECORD items: no record of this page can be written: key: \$\.id is nothing/);
  expect(await place.replay()).toEqual({ replayed: 1, left: 0 });
  expect(await place.run({ ...since, key: '$.uid' }, false)).toBe(0);
  expect((await place.records()).map(([key]) => key)).toEqual(['1', '2', '1', '2', '3', '4']);
  expect(await place.open()).toEqual([]);
  await place.run({ ...since, key: '$.uid' });
  expect(place.since()).toEqual([null, times[1], times[1], times[3]?.replace('2024', '2025')]);
  expect(await place.records()).toHaveLength(6);
});

it('the newest time stops before a record that does not fit, and its dead letter is closed when it fits', async () => {
  const items: { id: number | null; name?: string; updated_at: string }[] = some(4);
  items[1] = { id: null, updated_at: times[1] ?? '' };
  await using place = await unfit(({ query }) => ({ body: from(items, query.get('since')) }));
  expect(await place.run(since, false)).toBe(1);
  expect((await place.records()).map(([key]) => key)).toEqual(['1', '3', '4']);
  // It fails again: no second dead letter, and nothing is written twice.
  items.push(...some(1, 5));
  expect(await place.run(since)).toBe(0);
  expect(place.since()).toEqual([null, times[1]]);
  expect(await place.open()).toHaveLength(1);
  // A replay requests it again. Its dead letter stays open, because the record still doesn't fit.
  expect(await place.replay()).toEqual({ replayed: 1, left: 0 });
  expect(await place.run(since, false)).toBe(0);
  expect(await place.open()).toHaveLength(1);
  items[1] = { id: 2, updated_at: times[1] ?? '' };
  expect(await place.run(since)).toBe(0);
  expect(await place.open()).toEqual([]);
  expect((await place.records()).map(([key]) => key)).toEqual(['1', '3', '4', '5', '2']);
  await place.run(since);
  expect(place.since()).toEqual([null, times[1], times[1], times[1], times[4]]);
});

it.each(['is dismissed', 'is no longer returned'])('the newest time passes a record that does not fit when it %s', async (how) => {
  const items: { id?: number; updated_at: string }[] = some(3);
  items[0] = { updated_at: times[0] ?? '' };
  await using place = await unfit(({ query }) => ({ body: from(items, query.get('since')) }));
  await place.run(since, false);
  if (how === 'is dismissed') await place.dismiss();
  else items.shift();
  await place.run(since);
  expect(await place.open()).toEqual([]);
  await place.run(since);
  expect(place.since()).toEqual(how === 'is dismissed' ? [null, times[2], times[2]] : [null, times[0], times[2]]);
  expect((await place.records()).map(([key]) => key)).toEqual(['2', '3']);
});

it('a record without a time holds the listing where it began, and several dead letters of a listing are one job', async () => {
  const items: { id: number; updated_at?: string }[] = [...some(3), { id: 8 }, { id: 9 }];
  await using place = await unfit(({ query }) => ({ body: from(items, query.get('since')) }));
  await place.run(since, false);
  expect(await place.open()).toHaveLength(2);
  expect(await place.replay()).toEqual({ replayed: 2, left: 0 });
  items[3] = { id: 8, updated_at: times[4] ?? '' };
  items[4] = { id: 9, updated_at: times[5] ?? '' };
  expect(await place.run(since, false)).toBe(0);
  expect(place.since()).toEqual([null, null]);
  expect(await place.open()).toEqual([]);
  expect((await place.records()).map(([key]) => key)).toEqual(['1', '2', '3', '8', '9']);
});

it('a dead letter of a record without since contains its job, too, so that a replay requests it again', async () => {
  const items: { id?: number }[] = [{ id: 1 }, {}, {}];
  await using place = await unfit(() => ({ body: items }));
  expect(await place.run({}, false)).toBe(2);
  items.splice(1, 2, { id: 2 }, { id: 3 });
  expect(await place.replay()).toEqual({ replayed: 2, left: 0 });
  expect(await place.run({}, false)).toBe(0);
  expect((await place.records()).map(([key]) => key)).toEqual(['1', '1', '2', '3']);
  expect(await place.open()).toEqual([]);
});
