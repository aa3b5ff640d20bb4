import { readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { addJobs, embeddedLog } from './embedded-log.fixture.ts';
import { type Workplace, followersYaml, workplace } from './headgate-process.fixture.ts';

const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('a started job that its topic no longer has', () => {
  it('of followers resumes where it was killed, with its own count', async () => {
    await using service = await startFollowers({ ...FREELY, users: { alpha: { followers: 400 } }, latencyMs: 20 });
    await using place = await workplace(followersYaml({ url: service.url, users: [], more: '  count: 100\n' }));
    await addJobs(place, 'followers', ['{"screenName":"alpha","count":10}']);
    const first = place.start('run');
    while (service.requests.length < 12) await sleep(5);
    first.child.kill('SIGKILL');
    await first.ended;
    const before = await ids(place);
    await forgetJobs(place);

    expect(JSON.parse((await place.headgate('plan', '--json')).stdout)).toMatchObject({
      pipelines: [{ walks: [{ key: '@alpha', page: before.length / 10 + 1 }] }],
    });
    const last = await place.headgate('run');
    expect([last.code, last.stderr]).toEqual([0, expect.stringContaining('1 job')]);
    expect([...before, ...(await ids(place))]).toEqual(service.followersOf('alpha'));
    expect(new Set(service.requests.map(({ cursor }) => cursor)).size).toBe(40);
    expect(await stateKeys(place, '/job/')).toEqual([]);
  });
});

async function ids(place: Workplace): Promise<unknown[]> {
  return (await place.records('followers.ids')).map(({ value }) => value['id']);
}

/** Replaces the log with one that has the same state but no jobs, because the embedded log never deletes jobs itself. */
async function forgetJobs(place: Workplace): Promise<void> {
  const state = await stateOf(place);
  for (const name of await readdir(place.folder))
    if (name.startsWith('headgate.db')) await rm(join(place.folder, name), { recursive: true });
  await writeState(place, state);
}

const STATES = ['followers.state', 'headgate.state'];

type State = readonly { readonly topic: string; readonly key: string; readonly value: string }[];

async function stateOf(place: Workplace): Promise<State> {
  await using log = await embeddedLog(place);
  const states = STATES.map(async (topic) => [...(await log.readState(topic, 0))].map(([key, value]) => ({ topic, key, value })));
  return (await Promise.all(states)).flat();
}

async function writeState(place: Workplace, state: State): Promise<void> {
  await using log = await embeddedLog(place);
  for (const { topic, key, value } of state) {
    await using lane = await log.openLane({ name: 'any', state: { topic, partition: 0 } });
    await lane.transaction((tx) => tx.checkpoint(key, value));
  }
}

async function stateKeys(place: Workplace, part: string): Promise<readonly string[]> {
  return (await stateOf(place)).map(({ key }) => key).filter((key) => key.includes(part));
}
