import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined } from './lane-moves.fixture.ts';
import { memoryMb, reportFigure } from './process-figures.fixture.ts';
import { smallDisk, withTemporaryFoldersIn } from './small-disk.fixture.ts';

const PAGE_SIZE = 5_000;
const MEGABYTE = 1_048_576;
const { pages, waitMs } = TORTURE ? { pages: 200, waitMs: 30_000 } : { pages: 40, waitMs: 3_000 };
const users = { alpha: { followers: 1 }, beta: { followers: pages * PAGE_SIZE, pageSize: PAGE_SIZE } };

describe.skipIf(WHY_NOT !== undefined)(`headgate run on Kafka whose disk is full${BECAUSE}`, { timeout: 600_000 + waitMs }, () => {
  it('reports that and waits, and continues when there is space and the broker is back, without losing or repeating anything', async ({
    skip,
  }) => {
    const disk = await smallDisk({ megabytes: 300 });
    if (typeof disk === 'string') return skip(disk);
    await using room = disk;
    const options = { users, listed: ['alpha'], latencyMs: 50, status: '{ port: 0 }' };
    await using place = await withTemporaryFoldersIn(room.folder, () => kafkaPlace(options));
    const { fleet, broker, service, work } = place;
    const [node] = broker.nodes;
    const run = fleet.start('run', '--follow');
    const status = await joined(run);
    await run.said(({ event }) => event === 'request-completed');
    const said = run.lines().length;
    // Leaves enough space for the job, but not for all of its pages.
    await room.fill(2 * MEGABYTE);
    expect((await work.headgate('enqueue', 'followers', 'beta')).code).toBe(0);
    const unavailable = await run.said(({ event }) => event === 'log-unavailable');
    expect(unavailable.reason).toEqual(expect.any(String));
    const [asked, memory] = [service.requests.length, await memoryMb(run.pid)];
    await sleep(waitMs);
    expect(run.running).toBe(true);
    expect((await fetch(new URL('/readyz', status))).status).toBe(503);
    expect(service.requests.length).toBe(asked);
    expect(asked).toBeLessThan(pages);
    reportFigure(`full: ${(await memoryMb(run.pid)).now - memory.now} MB more`);
    reportFigure(`full: broker ${node?.pid === undefined ? 'has ended' : 'still runs'}, said: ${unavailable.reason}`);

    await room.empty();
    await node?.kill();
    await node?.start();
    await run.said(({ event }) => event === 'request-completed', { from: said });
    await fleet.stop();
    expect(await expectWhole(place)).toBe(1 + pages * PAGE_SIZE);
    expect(askedAgain(place)).toBe(0);
  });
});
