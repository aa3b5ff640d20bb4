import { start } from '@headgate/pipeline';
import { expect, it } from 'vitest';
import { startApi } from './api.fixture.ts';
import { type Section, bearer, some } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();

const items: Section['streams'] = { items: { get: '/items', query: { since: '{since}' }, key: '$.id', since: { from: '$.updated_at' } } };
const users: Section['streams'] = {
  users: { get: '/users', query: { ids: '{id}' }, for: { id: ['1'] }, batch: { of: 'id', most: 50, match: ['$.id'] }, key: '$.id' },
};

it.each([
  ['is added', [items, { ...items, ...users }]],
  ['is removed', [{ ...items, ...users }, items]],
])('a listing continues at its newest record after a batch stream %s', async (_, sections) => {
  const share = shareOfLog();
  await using api = await startApi({
    routes: {
      'GET /items': ({ query }) => ({ body: some(3).filter(({ updated_at: at }) => at >= (query.get('since') ?? '')) }),
      'GET /users': () => ({ body: [{ id: 1 }] }),
    },
  });
  for (const [run, streams] of sections.entries()) {
    const pipeline = rest('api')({ ...bearer, baseUrl: api.url, streams });
    await using running = await start({ ...share, pipelines: [pipeline] });
    if (run > 0) await running.enqueue('api', [{ stream: 'items' }]);
    expect((await running.done).failures).toEqual([]);
  }
  const listed = api.answered.filter(({ path }) => path === '/items');
  expect(listed.map(({ query }) => query.get('since'))).toEqual([null, some(3)[2]?.updated_at]);
});
