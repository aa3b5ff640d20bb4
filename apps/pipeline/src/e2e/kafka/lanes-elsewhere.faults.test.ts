import { describe, expect, it } from 'vitest';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined } from './lane-moves.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`headgate run next to a process that keeps running${BECAUSE}`, () => {
  it('reports which lanes it had, and that other processes hold the rest', async () => {
    const options = { users: {}, lanes: 2, credentials: 2, status: '{ port: 0 }' };
    await using place = await kafkaPlace(options);
    await joined(place.fleet.start('run', '--follow'));
    const { code, stderr } = await place.work.headgate('run');
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(
        /^Nothing to do here: earlier runs finished all jobs of lane [01] .*\nElsewhere: +1 other lane is held by other processes of the group\.$/mu,
      ),
    ]);
  });
});
