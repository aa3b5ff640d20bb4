import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { askedAgain, expectWhole, refusals } from './crawls.fixture.ts';
import { BECAUSE, type KafkaPlace, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined, pagesAsked } from './lane-moves.fixture.ts';
import { moveLeaders } from './leader-moves.fixture.ts';
import { memoryMb, reportFigure } from './process-figures.fixture.ts';

const { kills, frozenMs, rounds, moves } = TORTURE
  ? { kills: 12, frozenMs: 60_000, rounds: 3, moves: 20 }
  : { kills: 2, frozenMs: 8_000, rounds: 1, moves: 2 };
const CRAWLS = 3;
const PAGE_SIZE = 200;

describe.skipIf(WHY_NOT !== undefined)(`headgate run --follow on Kafka, its brokers ${SEEDED}${BECAUSE}`, () => {
  it(
    `killed ${kills} times and frozen for ${frozenMs / 1_000} s, loses nothing, and requests nothing twice or without a way to write it`,
    { timeout: 600_000 + kills * 30_000 + frozenMs },
    async () => {
      await using place = await crawls({ pages: 20 + 15 * kills });
      const { fleet, service, broker } = place;
      const chance = chanceOf('broker');
      const [node] = broker.nodes;
      const run = fleet.start('run', '--follow');
      const status = await joined(run);
      for (let kill = 0; kill < kills; kill += 1) {
        await further(place, 2 * CRAWLS);
        await sleep(chance.between(0, 300));
        await node?.kill();
        const asked = service.requests.length;
        await sleep(chance.between(0, 3_000));
        // Requests with a permit from before the kill may still be sent, one for each crawl.
        expect(service.requests.length - asked).toBeLessThanOrEqual(CRAWLS);
        await node?.start();
      }

      await further(place, 2 * CRAWLS);
      const said = run.lines().length;
      node?.pause();
      const [asked, memory] = [service.requests.length, await memoryMb(run.pid)];
      try {
        await run.said(({ event }) => event === 'log-unavailable', { from: said });
        const readiness = await fetch(new URL('/readyz', status));
        expect([readiness.status, await readiness.text()]).toEqual([503, expect.stringContaining("kafka can't be reached since")]);
        const now = (await (await fetch(new URL('/status.json', status))).json()) as StatusJson;
        expect(now.log_unavailable?.reason).toEqual(expect.any(String));
        for (const { used, max } of now.credits) expect(used).toBeLessThanOrEqual(max);
        await sleep(frozenMs - 6_000);
        expect(service.requests.length - asked).toBeLessThanOrEqual(CRAWLS);
        reportFigure(`frozen: ${(await memoryMb(run.pid)).now - memory.now} MB more`);
      } finally {
        node?.resume();
      }
      const resumed = performance.now();
      await run.said(({ event }) => event === 'log-available', { from: said });
      await further(place, CRAWLS);
      reportFigure(`frozen for ${frozenMs / 1_000} s, asks again ${Math.round(performance.now() - resumed)} ms after that`);
      expect((await fetch(new URL('/readyz', status))).status).toBe(200);
      await toTheEnd(place);
      expect(askedAgain(place)).toBe(0);
    },
  );

  it.runIf(TORTURE)(
    `three of them, each killed in turn ${rounds} times and its leadership moved ${moves} times, loses nothing and requests nothing twice`,
    { timeout: 600_000 + rounds * 90_000 + moves * 20_000 },
    async () => {
      await using place = await crawls({ pages: 10 + 18 * rounds + 8 * moves, replication: 3 });
      const { fleet, broker } = place;
      const chance = chanceOf('brokers');
      await joined(fleet.start('run', '--follow'));
      for (let round = 0; round < rounds; round += 1) {
        for (const node of broker.nodes) {
          await further(place, CRAWLS);
          await sleep(chance.between(0, 300));
          await node.kill();
          await further(place, 2 * CRAWLS);
          await node.start();
        }
      }
      // Leaders move at the end. From then on, partitions have two copies, and can't be written while one of them is missing.
      const moved = await moveLeaders(broker.brokers, { times: moves, betweenMoves: () => further(place, CRAWLS) });
      expect(moved).toBeGreaterThanOrEqual(moves);
      await toTheEnd(place);
      expect(askedAgain(place)).toBe(0);
    },
  );
});

interface StatusJson {
  readonly log_unavailable?: { readonly reason: string };
  readonly credits: readonly { readonly used: number; readonly max: number }[];
}

function crawls({ pages, replication = 1 }: { readonly pages: number; readonly replication?: 1 | 3 }): Promise<KafkaPlace> {
  const user = { followers: pages * PAGE_SIZE, pageSize: PAGE_SIZE };
  return kafkaPlace({
    users: { alpha: user, beta: user, gamma: user },
    latencyMs: { min: 100, max: 200 },
    status: '{ port: 0 }',
    replication,
    broker: { nodes: replication },
    more: `  count: ${PAGE_SIZE}\n  maxOutstanding: ${CRAWLS * PAGE_SIZE}\n`,
  });
}

/** Resolves when this many more pages were requested, or all pages were. */
async function further(place: KafkaPlace, pages: number): Promise<void> {
  const all = Object.values(place.users).reduce((sum, { followers }) => sum + Number(followers) / PAGE_SIZE, 0);
  const wanted = Math.min(all, pagesAsked(place) + pages);
  const deadline = performance.now() + 300_000;
  while (pagesAsked(place) < wanted) {
    if (performance.now() > deadline)
      throw new Error(
        `No further page within five minutes. ${place.fleet.runners
          .at(-1)
          ?.lines()
          .slice(-5)
          .map(({ msg }) => msg)
          .join('\n')}`,
      );
    await sleep(10);
  }
}

async function toTheEnd(place: KafkaPlace): Promise<void> {
  const { fleet, users } = place;
  await fleet.stop();
  expect((await fleet.start('run').ended).code).toBe(0);
  await expectWhole(place);
  expect(refusals(place)).toBe(0);
  expect(pagesAsked(place)).toBe(Object.values(users).reduce((sum, { followers }) => sum + Number(followers) / PAGE_SIZE, 0));
}
