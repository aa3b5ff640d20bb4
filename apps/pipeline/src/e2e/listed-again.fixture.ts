import { startFollowers } from '@headgate/sandbox';
import type { TopicLog } from '@headgate/topics';
import { expect } from 'vitest';
import { type Workplace, followersYaml } from './headgate-process.fixture.ts';

/** Kills a run when its second crawls are in the log, and repeats its command. Returns how that ended, and the keys of all jobs and pages. */
export async function repeatedAfterKill(place: Workplace, topics: object, openLog: () => Promise<TopicLog>) {
  await using service = await startFollowers({
    users: { a: { followers: 12_000 }, b: { followers: 12_000 } },
    window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 },
    latencyMs: 100,
  });
  const yaml = followersYaml({ url: service.url, users: ['a', 'b'], limit: '{ requests: 4, window: 1s }' });
  await place.write('headgate.yaml', yaml.replace(/^topics: .*$/mu, `topics: ${JSON.stringify(topics)}`));
  expect((await place.headgate('run')).code).toBe(0);
  await using log = await openLog();
  const keysOf = async (topic: string): Promise<(string | null)[]> =>
    (await Array.fromAsync(log.read({ topic: `followers.${topic}` }), ({ key }) => key)).toSorted();
  const { child, ended } = place.start('run', '--again', 'followers');
  await expect.poll(async () => (await keysOf('requests')).length, { interval: 20 }).toBe(4);
  child.kill('SIGKILL');
  await ended;
  const { code, stderr } = await place.headgate('run', '--again', 'followers');
  return { code, stderr, jobs: await keysOf('requests'), pages: await keysOf('pages') };
}

export const REPEATED = {
  code: 0,
  stderr: expect.stringContaining("aren't finished, or their children aren't. This run continues them") as string,
  jobs: ['@a', '@a', '@b', '@b'],
  pages: ['@a', '@b'].flatMap((key) => Array.from({ length: 2 * 3 }, () => key)),
};
