import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined } from './lane-moves.fixture.ts';
import { cpuMs, memoryMb } from './process-figures.fixture.ts';

const WATCHED_MS = 5_000;
const users = { alpha: { followers: 20_000, pageSize: 100 } };

describe.skipIf(WHY_NOT !== undefined || process.platform !== 'linux')(`headgate run --follow on Kafka, waiting${BECAUSE}`, () => {
  it('needs less than 10 ms of CPU per second while standing by', async () => {
    const window = { kind: 'rolling', limit: 15, windowMs: 3_000 } as const;
    await using place = await kafkaPlace({ users, window, status: '{ port: 0 }', more: '  count: 100\n' });
    await joined(place.fleet.start('run', '--follow'));
    const second = place.fleet.start('run', '--follow');
    await joined(second);
    const standingBy = async () => {
      const before = await cpuMs(second.pid);
      await sleep(WATCHED_MS);
      return ((await cpuMs(second.pid)) - before) / (WATCHED_MS / 1_000);
    };
    // V8 compiles and collects garbage for a while after the start, so the test waits until only the cost of standing by is left.
    await expect.poll(standingBy, { timeout: 12 * WATCHED_MS }).toBeLessThan(10);
  });

  it('grows by less than 30 MB while the broker is frozen', async () => {
    await using place = await kafkaPlace({ users, status: '{ port: 0 }', more: '  count: 100\n' });
    const [node] = place.broker.nodes;
    const run = place.fleet.start('run', '--follow');
    await joined(run);
    await expect.poll(() => place.service.requests.length).toBeGreaterThan(20);
    node?.pause();
    try {
      await run.said(({ event }) => event === 'log-unavailable');
      const before = await memoryMb(run.pid);
      await sleep(3 * WATCHED_MS);
      expect((await memoryMb(run.pid)).now - before.now).toBeLessThan(30);
    } finally {
      node?.resume();
    }
  });
});
