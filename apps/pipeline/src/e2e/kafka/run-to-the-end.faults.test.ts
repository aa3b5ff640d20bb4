import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectWhole } from './crawls.fixture.ts';
import { BECAUSE, type KafkaPlace, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { pagesAsked } from './lane-moves.fixture.ts';

const PAGES = 40;
/** Longer than the group's session timeout. */
const LONG_MS = 20_000;

const FAULTS: readonly (readonly [when: string, fault: (place: KafkaPlace) => Promise<void>])[] = [
  [
    'it was frozen for longer than its session',
    async ({ fleet }) => {
      fleet.runners[0]?.signal('SIGSTOP');
      await sleep(LONG_MS);
      fleet.runners[0]?.signal('SIGCONT');
    },
  ],
  [
    'the broker was frozen for longer than its session',
    async ({ broker }) => {
      broker.nodes[0]?.pause();
      await sleep(LONG_MS);
      broker.nodes[0]?.resume();
    },
  ],
  [
    'the broker was away for longer than its session',
    async ({ broker }) => {
      await broker.nodes[0]?.kill();
      await sleep(LONG_MS);
      await broker.nodes[0]?.start();
    },
  ],
];

describe.skipIf(WHY_NOT !== undefined)(`headgate run on Kafka, without --follow${BECAUSE}`, () => {
  it.runIf(TORTURE).each(FAULTS)('ends when everything is done and not before, even if %s', async (_, fault) => {
    await using place = await kafkaPlace({
      users: { alpha: { followers: PAGES * 10, pageSize: 10 } },
      latencyMs: 200,
      more: '  count: 10\n',
    });
    const { fleet } = place;
    const run = fleet.start('run');
    while (pagesAsked(place) < 5) await sleep(10);
    await fault(place);
    const { code, stderr } = await run.ended;
    expect({ code, asked: pagesAsked(place), stderr: stderr.slice(-800) }).toMatchObject({ code: 0, asked: PAGES });
    await expectWhole(place);
  });
});
