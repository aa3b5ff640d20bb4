import { startFollowers } from '@headgate/sandbox';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { followersYaml } from './headgate-process.fixture.ts';
import { inProcess } from './in-process.fixture.ts';

it('a run reports another group that processes the same jobs, or did before a new group started, and forgets it after a day', async () => {
  const window = { limit: 100_000, windowMs: 1_000 };
  await using service = await startFollowers({ users: { alpha: { followers: 1 } }, window });
  const clock = virtualClock({ epochMs: Date.parse('2026-11-01T00:00:00Z') });
  await using place = await inProcess({ clock });
  const said = async (group: string): Promise<readonly string[]> => {
    const yaml = followersYaml({ url: service.url, users: ['alpha'] }).replace('file: ./headgate.db', `group: ${group}`);
    const { events, ended } = place.start(yaml);
    expect(await ended).toEqual([]);
    return events.flatMap((event) => (event.type === 'notice' && event.level === 'warn' ? [event.message] : []));
  };
  expect(await said('one')).toEqual([]);
  await clock.advance(3 * 3_600_000);
  expect(await said('two')).toEqual([
    'Group "two" starts over: group "one" processed followers.requests (last 3 h ago), and this group processes and writes all of it again. ' +
      "Did the group's name change by mistake? Independent groups need separate topics.",
  ]);
  await clock.advance(20 * 3_600_000);
  expect(await said('two')).toEqual([
    'Group "one" also processes followers.requests (last 23 h ago), so every job is processed and written twice. Independent groups need separate topics.',
  ]);
  await clock.advance(2 * 3_600_000);
  expect(await said('two')).toEqual([]);
});
