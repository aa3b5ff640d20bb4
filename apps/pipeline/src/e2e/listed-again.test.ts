import { join } from 'node:path';
import { startBooks, startFollowers } from '@headgate/sandbox';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';
import { REPEATED, repeatedAfterKill } from './listed-again.fixture.ts';

const window = { kind: 'rolling', limit: 100_000, windowMs: 1_000 } as const;

it('run --again crawls the users of a list again, all of them or one, and the line for a finished list names the command', async () => {
  await using service = await startFollowers({ users: { a: { followers: 3 }, b: { followers: 3 } }, window });
  await using place = await workplace(followersYaml({ url: service.url, users: ['a', 'b'] }));
  const keys = async () => (await place.records('followers.ids')).map(({ key }) => key).toSorted();
  await place.headgate('run');
  const idle = await place.headgate('run');
  expect(idle.stderr).toContain('\nTo ask again:     headgate run --again followers\n                  To repeat, set every, such');
  expect(await keys()).toEqual(['@a', '@a', '@a', '@b', '@b', '@b']);
  expect((await place.headgate('run', '--again', 'followers')).code).toBe(0);
  expect((await place.headgate('run', '--again', 'followers', '--from-start', '--only', 'followers:@b')).code).toBe(0);
  expect(await keys()).toEqual([...Array.from({ length: 6 }, () => '@a'), ...Array.from({ length: 9 }, () => '@b')]);
  const only = await place.headgate('run', '--only', 'followers');
  expect(only.stderr).toContain('\nTo ask again:     headgate run --again followers --only followers\n');
});

it('run --again looks up the books of a list again', async () => {
  await using shop = await startBooks();
  const yaml = `topics: { driver: sqlite, file: headgate.db }\nstatus: false\nbooks: { baseUrl: "${shop.url}", key: k, isbns: ["9780140449136"] }\n`;
  await using place = await workplace(yaml);
  for (const args of [[], [], ['--again', 'books']]) expect((await place.headgate('run', ...args)).code).toBe(0);
  expect((await place.records('books.records')).length + (await place.records('books.missing')).length).toBe(2);
});

it.each([
  [['--again', 'book'], 'run --again: there is no pipeline book. There are followers.'],
  [['--again', 'followers.a'], 'run --again: followers has no streams. Write only followers.'],
  [['--again', 'followers', '--only', 'followers:@x'], 'run --again: the list of followers has no job with the key @x.'],
  [['--from-start'], 'run: --from-start needs --again PIPELINE or --again PIPELINE.STREAM.'],
  [['--again', 'followers', '--sandbox'], "option '--sandbox' cannot be used with option '--again <pipeline[.stream]>'"],
])('run %j is a usage error', async (args, message) => {
  await using place = await workplace(followersYaml({ url: 'http://127.0.0.1:9', users: ['a'] }));
  const { code, stderr } = await place.headgate('run', ...args);
  expect([code, stderr]).toEqual([2, expect.stringContaining(`headgate: ${message}`)]);
});

it('a run that is killed right after it has added a list again loses none of its jobs', async () => {
  await using place = await workplace('status: false\n');
  const openLog = async () => await sqliteTopicLog({ file: join(place.folder, 'headgate.db') });
  expect(await repeatedAfterKill(place, { driver: 'sqlite', file: 'headgate.db' }, openLog)).toEqual(REPEATED);
});
