import { startFollowers } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { followersYaml, workplace } from './headgate-process.fixture.ts';

it('cancel withdraws requests of a key that no run has started, and reports a run that holds them', async () => {
  await using service = await startFollowers({
    users: { a: { followers: 3 }, b: { followers: 3 } },
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
  });
  await using place = await workplace(followersYaml({ url: service.url, users: [] }));
  await place.headgate('enqueue', 'followers', 'a', 'b', 'a');
  expect(await place.headgate('cancel', 'followers', '@a')).toMatchObject({ code: 0, stderr: '2 jobs withdrawn\n' });
  expect(await place.headgate('cancel', 'followers', '@a')).toMatchObject({
    code: 1,
    stderr: '0 jobs withdrawn: no job of @a is waiting. To list the jobs: headgate read followers.requests\n',
  });
  expect((await place.headgate('run')).code).toBe(0);
  expect((await place.records('followers.ids')).map(({ key }) => key)).toEqual(['@b', '@b', '@b']);
  expect((await place.headgate('cancel', 'shelves', '@a')).code).toBe(2);

  const run = place.start('run', '--follow');
  await expect.poll(() => run.text().stderr).toMatch(/this process holds it now/u);
  const refused = await place.headgate('cancel', 'followers', '@b');
  expect([refused.code, refused.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^headgate: no job was canceled\. Another run \(process \d+, .* A run holds the lanes of these jobs\. Stop it, cancel the job, then start the run again/u,
    ),
  ]);
  run.child.kill('SIGTERM');
  expect((await run.ended).code).toBe(130);
});
