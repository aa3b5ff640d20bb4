import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';

const rounds = TORTURE ? 16 : 2;
const pages = 10 * rounds;

describe.skipIf(WHY_NOT !== undefined)(
  `headgate run on Kafka with dead group members ${SEEDED}${BECAUSE}`,
  { timeout: 600_000 + rounds * 40_000 },
  () => {
    it('takes lanes that still seem to belong to processes killed while they joined the group', async () => {
      await using place = await kafkaPlace({
        users: { alpha: { followers: 10 * pages, pageSize: 10 } },
        latencyMs: 100,
        more: '  count: 10\n  unwrittenPages: 1\n',
      });
      const { fleet, service } = place;
      const chance = chanceOf('dead members');
      let holder = fleet.start('run');
      for (let round = 0; round < rounds; round += 1) {
        const asked = service.requests.length;
        while (service.requests.length < asked + 3 && holder.running) await sleep(5);
        const { code, stderr } = holder.running ? { code: null, stderr: '' } : await holder.ended;
        expect({ round, code, stderr }).toEqual({ round, code: null, stderr: '' });
        holder.signal('SIGKILL');
        const joining = fleet.start('run');
        await sleep(chance.between(800, 2_000));
        joining.signal('SIGKILL');
        holder = fleet.start('run');
      }
      expect((await holder.ended).code).toBe(0);
      await expectWhole(place);
      expect(askedAgain(place)).toBeLessThanOrEqual(rounds);
    });
  },
);
