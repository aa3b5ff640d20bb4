import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { askedAgain, expectWhole, refusals } from './crawls.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { pagesAsked } from './lane-moves.fixture.ts';

const { kills, pages, pageSize } = TORTURE ? { kills: 30, pages: 300, pageSize: 5_000 } : { kills: 6, pages: 60, pageSize: 1_000 };

describe.skipIf(WHY_NOT !== undefined)(`headgate run on Kafka, killed ${SEEDED}${BECAUSE}`, () => {
  it.each([
    { repeats: 1, more: '  unwrittenPages: 1\n' },
    { repeats: 8, more: '  unwrittenPages: 8\n' },
  ])(
    `${kills} times within ${pages} pages, writes every ID once and in order, and repeats at most $repeats pages per kill`,
    { timeout: 600_000 + 30_000 * kills },
    async ({ repeats, more }) => {
      const users = { alpha: { followers: pages * pageSize, pageSize } };
      await using place = await kafkaPlace({ users, more: `  count: ${pageSize}\n${more}` });
      const { service, fleet } = place;
      const chance = chanceOf('killed');
      let killed = 0;
      while (killed < kills) {
        const before = service.requests.length;
        const run = fleet.start('run');
        // About a fifth of the runs are killed at a random time, perhaps before their first request. The others are killed within a few pages.
        if (chance.next() < 0.2) await sleep(chance.between(0, 3_000));
        else {
          while (service.requests.length === before && run.running) await sleep(2);
          await sleep(chance.between(0, Math.min(600, (20 * pages) / kills)));
        }
        run.signal('SIGKILL');
        const { signal, code, stderr } = await run.ended;
        expect({ signal, code, stderr: signal === 'SIGKILL' ? '' : stderr }).toEqual({ signal: 'SIGKILL', code: null, stderr: '' });
        killed += 1;
      }
      const last = await fleet.start('run').ended;
      expect({ ...last, asked: pagesAsked(place) }).toMatchObject({ code: 0, asked: pages });
      expect(await expectWhole(place)).toBe(pages * pageSize);
      expect(askedAgain(place)).toBeLessThanOrEqual(repeats * kills);
      expect(refusals(place)).toBe(0);
    },
  );
});
