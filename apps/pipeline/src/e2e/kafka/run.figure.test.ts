import { setTimeout as sleep } from 'node:timers/promises';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { expectWhole } from './crawls.fixture.ts';
import type { Fleet } from './fleet.fixture.ts';
import { BECAUSE, type KafkaPlace, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { memoryMb, reportFigure } from './process-figures.fixture.ts';

const PAGE_SIZE = 5_000;
const starts = 5;
const pages = 300;

describe.skipIf(!TORTURE || WHY_NOT !== undefined)(
  `headgate run on Kafka, figures${BECAUSE}`,
  { timeout: 600_000 + starts * 30_000 },
  () => {
    let place: KafkaPlace;
    beforeAll(async () => {
      place = await kafkaPlace({ users: { one: { followers: 1 } }, latencyMs: 0 });
      await place.work.headgate('run');
    });
    afterAll(() => place?.[Symbol.asyncDispose]());

    it('writes its first record soon after its start', async () => {
      const took = await firstRecords(place, place.fleet);
      reportFigure(`from start to first record: ${took.join(', ')} ms`);
      expect(Math.min(...took)).toBeLessThan(10_000);
    });

    it.runIf(process.platform === 'linux').each(['pages', 'ids'] as const)(
      `holds no more than it needs over ${pages} pages, emit: %s`,
      async (shape) => {
        const users = { alpha: { followers: pages * PAGE_SIZE, pageSize: PAGE_SIZE } };
        await using crawled = await kafkaPlace({ users, latencyMs: 0, emit: `[${shape}]` });
        const began = performance.now();
        const run = crawled.fleet.start('run');
        let peak = 0;
        while (run.running) {
          peak = Math.max(peak, (await memoryMb(run.pid)).peak);
          await sleep(20);
        }
        const seconds = (performance.now() - began) / 1_000;
        expect((await run.ended).code).toBe(0);
        reportFigure(`emit ${shape}: ${pages} pages of ${PAGE_SIZE} in ${seconds.toFixed(1)} s, at most ${peak} MB`);
        await expectWhole(crawled, { ids: shape === 'ids', pages: shape === 'pages' });
        expect(peak).toBeLessThan(450);
      },
    );
  },
);

/** Time from each start of a run until a reader has its first record, ms. */
async function firstRecords({ broker, work }: KafkaPlace, processes: Fleet): Promise<readonly number[]> {
  const took: number[] = [];
  await using log = await kafkaTopicLog({ brokers: broker.brokers });
  for (let start = 0; start < starts; start += 1) {
    expect((await work.headgate('enqueue', 'followers', 'one')).code).toBe(0);
    const reader = log.read({ topic: 'followers.pages', from: 'latest', follow: true })[Symbol.asyncIterator]();
    const first = reader.next();
    await sleep(500);
    const began = performance.now();
    const run = processes.start('run');
    await first;
    took.push(Math.round(performance.now() - began));
    expect((await run.ended).code).toBe(0);
    await reader.return?.();
  }
  return took;
}
