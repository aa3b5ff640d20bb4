import { describe, expect, it } from 'vitest';
import { askedAgain, expectWhole, refusals } from './crawls.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace, kafkaYaml } from './kafka-place.fixture.ts';
import { joined, lanesOf, strike } from './lane-moves.fixture.ts';
import { reportFigure } from './process-figures.fixture.ts';

const takeovers = TORTURE ? 5 : 1;

describe.skipIf(WHY_NOT !== undefined)(
  `headgate run --follow on Kafka with one lane${BECAUSE}`,
  { timeout: 600_000 + 60_000 * takeovers },
  () => {
    it('a second process stands by, takes over from a killed one, and refuses other credentials', async () => {
      const window = { kind: 'rolling', limit: 15, windowMs: 3_000 } as const;
      const users = { alpha: { followers: 8_000, pageSize: 100 * takeovers } };
      const options = { users, window, status: '{ port: 0 }', more: `  count: ${100 * takeovers}\n` };
      await using place = await kafkaPlace(options);
      const { fleet, broker, service, work } = place;
      let first = fleet.start('run', '--follow');
      await joined(first);
      let second = fleet.start('run', '--follow');
      await joined(second);

      const stranger = kafkaYaml({ ...options, credentials: 2, listed: ['alpha'], brokers: broker.brokers, url: service.url });
      await work.write('other.yaml', stranger);
      const refused = await work.headgate('run', '--follow', '--config', 'other.yaml');
      expect([refused.code, refused.stdout]).toEqual([1, '']);
      expect(refused.stderr).toMatch(
        /Group "headgate" has processes with other settings: lanes, pipelines, credential names, limits or topics/,
      );
      expect(refused.stderr).not.toMatch(/\n\s+at /);
      expect(service.requests.filter(({ credential }) => credential !== 'app-0')).toEqual([]);
      expect([first.running, second.running]).toEqual([true, true]);

      for (let takeover = 0; takeover < takeovers; takeover += 1) {
        if (takeover > 0) await joined((second = fleet.start('run', '--follow')));
        expect([lanesOf(fleet, first), lanesOf(fleet, second)]).toEqual([[0], []]);
        expect(lanesOf(fleet, second)).toEqual([]);
        expect(second.lines().filter(({ event }) => event === 'request')).toEqual([]);

        const { takenAfterMs } = await strike(fleet, first, 'SIGKILL');
        reportFigure(`taken over after ${takenAfterMs.join()} ms`);
        expect(takenAfterMs).toEqual([expect.any(Number)]);
        expect(Math.max(...takenAfterMs)).toBeLessThan(TORTURE ? 11_000 : 60_000);
        first = second;
      }
      await fleet.stop();
      expect((await fleet.start('run').ended).code).toBe(0);
      await expectWhole(place);
      expect(askedAgain(place)).toBeLessThanOrEqual(takeovers);
      expect(refusals(place)).toBe(0);
    });
  },
);
