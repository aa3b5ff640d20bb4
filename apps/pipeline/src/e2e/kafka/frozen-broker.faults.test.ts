import { describe, expect, it } from 'vitest';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`commands on Kafka whose broker is frozen${BECAUSE}`, () => {
  it.for([['read', 'followers.pages'], ['check']] as const)('%s gives up, and prints nothing else', async (command) => {
    await using place = await kafkaPlace({ users: {} });
    const [node] = place.broker.nodes;
    node?.pause();
    try {
      const { code, stdout, stderr } = await place.work.headgate(...command);
      const said = stdout + stderr;
      expect([code, said]).toEqual([1, expect.stringMatching(/127\.0\.0\.1:\d+ isn't responding/u)]);
      expect(said).not.toMatch(/waiting|no problems$/mu);
    } finally {
      node?.resume();
    }
  });
});
