import { describe, expect, it } from 'vitest';
import { API, gate } from './gate.fixture.ts';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`the requests of a run to the brokers${BECAUSE}`, () => {
  it('are at most 60 if there is no work, because each of them is a round trip on a slow link', async () => {
    await using link = await gate();
    await using place = await kafkaPlace({ users: { alpha: { followers: 10 } }, broker: { settings: link.settings } });
    link.leadTo(place.broker.brokers[0] ?? '');
    expect((await place.work.headgate('run')).code).toBe(0);
    link.requests.length = 0;
    expect((await place.work.headgate('run')).code).toBe(0);
    // The numbers of heartbeats, and of looks for the end of a transaction, depend on the machine.
    const asked = link.requests.filter((api) => api !== API.heartbeat);
    expect(asked.length, asked.join()).toBeLessThanOrEqual(60);
  });
});
