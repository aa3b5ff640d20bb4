import { startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { followersYaml } from './headgate-process.fixture.ts';
import { inProcess } from './in-process.fixture.ts';

it.each([
  ['', '5000', 'true'],
  ['  stringifyIds: true\n  count: 2\n', '2', 'true'],
  ['  stringifyIds: false\n', '5000', 'false'],
])('a run requests pages as configured: %j', async (more, count, stringifyIds) => {
  const ids = ['18446744073709551615', '9007199254740993'];
  await using service = await startFollowers({ users: { a: { followers: ids } } });
  await using place = await inProcess();
  expect(await place.start(followersYaml({ url: service.url, users: ['a'], more })).ended).toEqual([]);
  expect(service.requests.map(({ query }) => query)).toEqual([{ screen_name: 'a', cursor: '-1', count, stringify_ids: stringifyIds }]);
  expect((await place.values('followers.ids')).map(({ id }) => id)).toEqual(ids);
});

it('a run crawls a user once, and compares its crawls, however the name is spelled', async () => {
  await using service = await startFollowers({ users: { Gamma: { followers: 3, shiftEvery: 1 } } });
  await using place = await inProcess();
  const yaml = followersYaml({ url: service.url, users: ['gamma', 'Gamma'], emit: '[pages, changes]' });
  expect(await place.start(yaml).ended).toEqual([]);
  await place.log.append([{ topic: 'followers.requests', key: '@GAMMA', value: '{"screenName":"GAMMA"}' }]);
  expect(await place.start(yaml).ended).toEqual([]);
  expect(service.requests.map(({ user }) => user)).toEqual(['gamma', 'GAMMA']);
  expect((await place.values('followers.crawls')).map(({ user, state }) => [user, state])).toEqual([
    ['@gamma', 'started'],
    ['@gamma', 'completed'],
    ['@gamma', 'started'],
    ['@gamma', 'completed'],
  ]);
  expect((await place.values('followers.changes')).map(({ user, change }) => [user, change])).toEqual([['@gamma', 'followed']]);
});
