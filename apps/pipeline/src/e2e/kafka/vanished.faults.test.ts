import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { committed } from './committed.fixture.ts';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { plainKafka } from './kafkajs.fixture.ts';
import { pagesAsked } from './lane-moves.fixture.ts';

const REQUESTS = 'followers.requests';
const PAGES = 40;
const user = { followers: PAGES * 10, pageSize: 10 };

describe.skipIf(WHY_NOT !== undefined)(`a crawl on Kafka whose job was deleted${BECAUSE}`, () => {
  it('continues where it was killed, together with new jobs, and leaves nothing behind', async () => {
    const users = { alpha: user, beta: user, gamma: user };
    await using place = await kafkaPlace({ users, listed: ['alpha', 'beta'], latencyMs: 20, more: '  count: 10\n  unwrittenPages: 1\n' });
    const { fleet, work, broker } = place;
    const run = fleet.start('run');
    while (pagesAsked(place) < 2 * (PAGES / 2)) await sleep(5);
    run.signal('SIGKILL');
    expect(await run.ended).toMatchObject({ signal: 'SIGKILL' });
    await deleteRecords(broker.brokers, REQUESTS);
    expect(await committed(broker.brokers, REQUESTS)).toEqual([]);
    expect((await work.headgate('enqueue', 'followers', 'gamma')).code).toBe(0);

    const plan = await work.headgate('plan');
    expect(plan.stdout).toMatch(/@alpha +from page \d+[^]*@beta +from page \d+[^]*@gamma +from the start/);
    const last = await work.headgate('run');
    expect({ code: last.code, asked: pagesAsked(place), stderr: last.stderr }).toMatchObject({ code: 0, asked: 3 * PAGES });
    await expectWhole(place);
    expect(askedAgain(place)).toBeLessThanOrEqual(2);

    const state = (await committed(broker.brokers, 'followers.state')).filter(({ key }) => key?.includes('/job/'));
    expect([...new Map(state.map(({ key, value }) => [key, value])).values()]).toEqual([null, null, null]);
    expect((await work.headgate('plan')).stdout).toBe('All jobs are done.\n');
    expect((await work.headgate('run')).stderr).toContain('Nothing to do');
  });
});

/** Deletes all records of a topic with one partition. */
async function deleteRecords(brokers: readonly string[], topic: string): Promise<void> {
  const admin = plainKafka(brokers).admin();
  await admin.connect();
  try {
    await admin.fetchTopicOffsets(topic);
    await admin.deleteTopicRecords({ topic, partitions: [{ partition: 0, offset: '-1' }] });
  } finally {
    await admin.disconnect();
  }
}
