import { describe, expect, it } from 'vitest';
import { gate } from './gate.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { usersPerLane } from './lane-moves.fixture.ts';

const LANES = 4;
const STARTS = TORTURE ? 20 : 1;
const AT_ONCE = 3;

describe.skipIf(WHY_NOT !== undefined)(`processes that start at once over a slow link${BECAUSE}`, () => {
  it(`all finish, ${STARTS} times ${AT_ONCE} of them`, { timeout: 120_000 + STARTS * 60_000 }, async () => {
    await using link = await gate({ latencyMs: 150 });
    const users = usersPerLane({ lanes: LANES, each: 1, user: { followers: 100, pageSize: 100 } });
    await using place = await kafkaPlace({
      users,
      lanes: LANES,
      credentials: LANES,
      more: '  count: 100\n',
      broker: { settings: link.settings },
    });
    link.leadTo(place.broker.brokers[0] ?? '');
    for (let start = 0; start < STARTS; start += 1) {
      const runs = Array.from({ length: AT_ONCE }, () => place.fleet.start('run'));
      const ends = await Promise.all(runs.map(({ ended }) => ended));
      for (const { code, stderr } of ends) {
        expect(stderr).not.toMatch(/^ +at /mu);
        expect(code, stderr).toBe(0);
      }
    }
    expect(place.service.requests).toHaveLength(LANES);
  });
});
