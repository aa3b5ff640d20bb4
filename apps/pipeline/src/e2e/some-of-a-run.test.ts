import { startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

it('run --only processes the jobs of one key, run --max-requests sends no more than that, and the next run does the rest', async () => {
  await using service = await startFollowers({
    users: { a: { followers: 12_000 }, b: { followers: 12_000 } },
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
  });
  await using place = await workplace(followersYaml({ url: service.url, users: ['a', 'b'] }));
  const keys = async () => new Set((await place.records('followers.ids')).map(({ key }) => key));
  const some = await place.headgate('run', '--only', 'followers:@b', '--max-requests', '2');
  expect(some.code).toBe(0);
  expect(some.stderr).toContain('the run stops: it sent its maximum of 2 HTTP requests');
  expect(some.stderr).toContain('Stopped after');
  expect(service.requests.length).toBe(2);
  expect(await keys()).toEqual(new Set(['@b']));
  expect((await place.headgate('run', '--only', 'followers:@b')).stderr).toContain('Done in');
  expect(await keys()).toEqual(new Set(['@b']));
  const again = await place.headgate('run', '--only', 'followers:@b');
  expect([again.code, again.stderr]).toEqual([
    0,
    expect.stringMatching(/\nNothing to do: earlier runs have finished all jobs of followers:@b\.\n$/u),
  ]);
  const pipeline = await place.headgate('run', '--only', 'followers', '--max-requests', '1');
  expect([pipeline.code, pipeline.stderr]).toEqual([0, expect.stringContaining('Stopped after')]);
  expect((await place.headgate('run')).code).toBe(0);
  expect(await keys()).toEqual(new Set(['@a', '@b']));
  expect(service.requests.length).toBe(6);
  expect((await place.records('followers.ids')).length).toBe(
    new Set((await place.records('followers.ids')).map(({ key, value }) => `${key} ${JSON.stringify(value)}`)).size,
  );
  const misspelled = await place.headgate('run', '--only', 'followers:b');
  expect([misspelled.code, misspelled.stderr.split('\n').at(-2)]).toEqual([
    2,
    'headgate: run --only: followers has no job with the key b. To list the jobs: headgate read followers.requests',
  ]);
  const json = await place.headgate('run', '--json', '--only', 'followers:nokey');
  expect([json.code, JSON.parse(json.stderr.trim().split('\n').at(-1) ?? '')]).toEqual([
    2,
    expect.objectContaining({ level: 'error', msg: expect.stringContaining('followers has no job with the key nokey. To list') }),
  ]);
  const unknown = await place.headgate('run', '--only', 'followers.ids');
  expect([unknown.code, unknown.stderr]).toEqual([
    2,
    'headgate: run --only: there is no pipeline followers.ids. There are followers. Write PIPELINE or PIPELINE:KEY: --only takes no stream.\n',
  ]);
});
