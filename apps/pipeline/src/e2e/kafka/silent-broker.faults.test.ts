import { describe, expect, it } from 'vitest';
import { API, gate } from './gate.fixture.ts';
import { BECAUSE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { joined, statusOf } from './lane-moves.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`headgate with a broker that owes it a response${BECAUSE}`, () => {
  it('ends or reports that; meanwhile run is alive and not ready, says why, and continues automatically', async () => {
    await using door = await gate();
    const { settings } = door;
    await using place = await kafkaPlace({ users: { alpha: { followers: 20 } }, status: '{ port: 0 }', broker: { settings } });
    const { fleet, work, broker } = place;
    door.leadTo(broker.brokers[0] ?? '');

    door.hold(API.findCoordinator);
    const run = fleet.start('run', '--follow');
    const status = new URL(await statusOf(run));
    expect((await fetch(new URL('/livez', status))).status).toBe(200);
    expect((await fetch(new URL('/readyz', status))).status).toBe(503);
    const stopped = fleet.start('run');
    await statusOf(stopped);
    const unavailable = await run.said(({ event }) => event === 'log-unavailable');
    expect(unavailable.reason).toMatch(/isn't responding$/u);
    expect(await (await fetch(new URL('/readyz', status))).text()).toMatch(/^not ready: .*\nkafka can't be reached since /u);
    expect((await fetch(new URL('/livez', status))).status).toBe(200);
    stopped.signal('SIGTERM');
    expect((await stopped.ended).code).toBe(130);

    door.open();
    await joined(run);
    expect(run.running).toBe(true);
    await fleet.stop();

    door.hold(API.describeConfigs);
    const plan = work.start('plan');
    const check = work.headgate('check');
    await expect.poll(() => plan.text().stderr).toMatch(/^kafka can't be reached \(.* isn't responding\): waiting until it's back/u);
    const { code, stdout } = await check;
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^ {2}kafka \S+ +127\.0\.0\.1:\d+ isn't responding$/mu)]);
    door.open();
    expect((await plan.ended).code).toBe(0);
  });
});
