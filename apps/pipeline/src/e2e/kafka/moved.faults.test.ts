import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { expectWhole, refusals } from './crawls.fixture.ts';
import type { Runner } from './fleet.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { type Blow, joined, lanesOf, needlessRepeats, pagesAsked, strike, usersPerLane } from './lane-moves.fixture.ts';
import { reportFigure } from './process-figures.fixture.ts';

const LANES = 4;
/** Maximum time (ms) until other processes have opened the lanes. Without `TORTURE`, other tests can run at the same time and slow it down. */
const TAKEN_WITHIN_MS = TORTURE ? 11_000 : 60_000;
const KINDS = ['SIGKILL', 'SIGTERM', 'SIGSTOP'] as const;
const { frozenMs, rounds, each, pages, pageSize } = TORTURE
  ? { frozenMs: 30_000, rounds: 24, each: 3, pages: 280, pageSize: 1_000 }
  : { frozenMs: 12_000, rounds: 3, each: 2, pages: 28, pageSize: 100 };

describe.skipIf(WHY_NOT !== undefined)(`headgate run --follow on Kafka, several processes ${SEEDED}${BECAUSE}`, () => {
  it(
    `killed, stopped, frozen and joined ${rounds} times, lose and repeat nothing, cause no refusal, and take every lane over in time`,
    { timeout: 600_000 + rounds * 60_000 },
    async () => {
      const users = usersPerLane({ lanes: LANES, each, user: { followers: pages * pageSize, pageSize } });
      const window = { kind: 'rolling', limit: 15, windowMs: 8_000 } as const;
      await using place = await kafkaPlace({
        users,
        window,
        latencyMs: { min: 200, max: 1_200 },
        lanes: LANES,
        credentials: LANES,
        status: '{ port: 0 }',
        more: `  count: ${pageSize}\n`,
      });
      const { fleet, service } = place;
      const chance = chanceOf('moved');
      const blows: Blow[] = [];
      const stops: (number | null)[] = [];
      const living = (): Runner[] => fleet.runners.filter(({ running }) => running);
      const join = async (): Promise<void> => {
        await joined(fleet.start('run', '--follow'));
      };
      await join();
      await join();

      // Each kind of signal once, then at random.
      for (let round = 0; round < rounds; round += 1) {
        const kind = KINDS[round] ?? chance.oneOf(KINDS);
        if (living().length < 2 || round === 0 || (round > 2 && living().length < 3 && chance.next() < 0.5)) await join();
        await sleep(chance.between(500, 3_000));
        const holders = living().filter((runner) => lanesOf(fleet, runner).length > 0);
        const victim = chance.oneOf(holders);
        const blow = await strike(fleet, victim, kind);
        blows.push(blow);
        if (kind === 'SIGTERM') stops.push((await victim.ended).code);
        if (kind === 'SIGSTOP') {
          await sleep(blow.at + frozenMs - Date.now());
          victim.signal('SIGCONT');
        }
      }
      const total = Object.keys(users).length * pages;
      while (pagesAsked(place) < total && living().length > 0) await sleep(200);
      await sleep(1_000);
      expect((await fleet.stop()).filter(({ code, signal }) => code !== 130 && signal !== 'SIGKILL')).toEqual([]);
      expect((await fleet.start('run').ended).code).toBe(0);

      expect(stops.filter((code) => code !== 130)).toEqual([]);
      await expectWhole(place);
      expect(refusals(place)).toBe(0);
      expect(service.requests.filter(({ status }) => status !== 200)).toEqual([]);
      expect(needlessRepeats(place, blows)).toEqual([]);
      reportFigure(
        blows.map(({ kind, lanes, takenAfterMs }) => `${kind} of lanes ${lanes.join()}: ${takenAfterMs.join(', ')} ms`).join('\n'),
      );
      for (const blow of blows)
        expect({ ...blow, late: blow.takenAfterMs.filter((ms) => ms > TAKEN_WITHIN_MS) }).toMatchObject({ late: [] });
    },
  );
});
