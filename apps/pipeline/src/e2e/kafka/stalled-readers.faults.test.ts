import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { expectWhole } from './crawls.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { plainKafka } from './kafkajs.fixture.ts';
import { reportFigure } from './process-figures.fixture.ts';

const PAGE_SIZE = 5_000;
const MEGABYTE = 1_048_576;
const pages = TORTURE ? 200 : 20;
const users = { alpha: { followers: pages * PAGE_SIZE, pageSize: PAGE_SIZE } };

describe.skipIf(WHY_NOT !== undefined)(`headgate run on Kafka with stalled readers${BECAUSE}`, () => {
  it('doesn’t wait for those readers', async () => {
    await using place = await kafkaPlace({ users, latencyMs: 0 });
    const { fleet, broker, service } = place;
    const run = fleet.start('run', '--follow');
    while (service.requests.length < 2) await sleep(5);
    // The handler of one reader never ends. The other reader is a frozen process.
    const consumer = plainKafka(broker.brokers).consumer({
      groupId: 'stalled',
      maxWaitTimeInMs: 100,
      maxBytesPerPartition: MEGABYTE,
      readUncommitted: false,
    });
    await consumer.connect();
    await consumer.subscribe({ topic: 'followers.ids', fromBeginning: true });
    const stalled = Promise.withResolvers<void>();
    const over = Promise.withResolvers<void>();
    const running = consumer.run({
      eachBatch: async () => {
        stalled.resolve();
        await over.promise;
      },
    });
    const reader = fleet.start('read', 'followers.ids', '--follow');
    await stalled.promise;
    reader.signal('SIGSTOP');
    const before = service.requests.length;
    const began = performance.now();
    await run.said(({ event }) => event === 'request-completed');
    reportFigure(`${pages - before} pages in ${Math.round(performance.now() - began)} ms beside stalled readers`);
    expect(service.requests.length).toBe(pages);
    over.resolve();
    await running;
    await consumer.disconnect();
    reader.signal('SIGKILL');
    await expectWhole(place);
  });
});
