import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { committed } from './committed.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined } from './lane-moves.fixture.ts';

const { kills, users: count } = TORTURE ? { kills: 12, users: 12_000 } : { kills: 2, users: 2_500 };

describe.skipIf(WHY_NOT !== undefined)(`the config's list on Kafka ${SEEDED}${BECAUSE}`, { timeout: 600_000 + kills * 20_000 }, () => {
  it('is enqueued once, even if several processes start at once and are killed meanwhile', async () => {
    const listed = Array.from({ length: count }, (_, i) => `user${i}`);
    const window = { kind: 'rolling', limit: 1, windowMs: 900_000 } as const;
    await using place = await kafkaPlace({ users: {}, listed, window, lanes: 2, credentials: 2, status: '{ port: 0 }' });
    const { fleet, broker } = place;
    const chance = chanceOf('list');
    for (let kill = 0; kill < kills; kill += 1) {
      const victim = fleet.start('run', '--follow');
      if (kill === 0) void fleet.start('run', '--follow');
      await sleep(chance.between(400, 2_500));
      victim.signal('SIGKILL');
      await victim.ended;
    }
    await Promise.all([fleet.start('run', '--follow'), fleet.start('run', '--follow')].map(joined));
    await fleet.stop();
    const jobs = (await committed(broker.brokers, 'followers.requests')).map(({ key }) => key);
    expect(jobs.toSorted()).toEqual(listed.map((name) => `@${name}`).toSorted());
  });
});
