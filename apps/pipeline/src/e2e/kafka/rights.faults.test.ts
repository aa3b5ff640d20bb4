import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import { AS_USER, DENYING_BROKER, type Denial, type Denials, denials } from './denials.fixture.ts';
import { BECAUSE, type KafkaPlace, WHY_NOT, kafkaPlace, kafkaYaml } from './kafka-place.fixture.ts';
import { statusOf } from './lane-moves.fixture.ts';

const denied = (operation: Denial['operation'], kind: Denial['kind'], name: string): Denial => ({ operation, kind, name });

const GROUP = denied('All', 'group', 'headgate');
const LANE = denied('Write', 'transactional id', 'headgate.followers*');
const IDS = denied('Write', 'topic', 'followers.ids');
const APPEND = denied('All', 'transactional id', 'append-*');
const CREATE = denied('Create', 'topic', 'followers.*');

describe.skipIf(WHY_NOT !== undefined)(`missing rights on Kafka${BECAUSE}`, () => {
  let place: KafkaPlace;
  let may: Denials;
  beforeAll(async () => {
    const users = { alpha: { followers: 1_000, pageSize: 100 }, beta: { followers: 3_000, pageSize: 100 } };
    place = await kafkaPlace({ users, latencyMs: 20, broker: DENYING_BROKER });
    may = await denials(place.broker.brokers);
    const brokers = place.broker.nodes.map(({ addresses }) => addresses['USERS'] ?? '');
    const window = { kind: 'rolling', limit: 100_000, windowMs: 1_000 } as const;
    const options = { brokers, url: place.service.url, window, topics: AS_USER, status: '{ port: 0 }' };
    await place.work.write('headgate.yaml', kafkaYaml({ ...options, listed: ['alpha'], more: '  count: 100\n' }));
  });
  afterAll(async () => {
    await may?.[Symbol.asyncDispose]();
    await place?.[Symbol.asyncDispose]();
  });

  it('to create topics are all named by check, and run waits and creates the topics once they are granted', async () => {
    await may.deny(CREATE);
    const { code, stdout } = await place.work.headgate('check');
    const topics = ['changes', 'crawls', 'dead-letters', 'ids', 'pages', 'requests', 'state'].map((name) => `followers.${name}`).join(', ');
    expect([code, stdout]).toEqual([1, expect.stringContaining(`Create on topics ${topics}\n`)]);
    const run = place.fleet.start('run');
    expect(await run.said(({ event }) => event === 'log-unavailable')).toMatchObject({
      refused: true,
      reason: `this user lacks Create on topics ${topics}`,
    });
    expect(
      run
        .lines()
        .map(({ msg = '' }) => msg)
        .join(),
    ).not.toMatch(/standing by|can't be reached/u);
    await may.allow(CREATE);
    expect((await run.ended).code).toBe(0);
    expect(place.service.requests).toHaveLength(10);
  });

  it('to append is named by enqueue', async () => {
    await may.deny(APPEND);
    const enqueued = await place.work.headgate('enqueue', 'followers', 'alpha');
    expect([enqueued.code, enqueued.stderr]).toEqual([
      1,
      expect.stringMatching(/^headgate: This user lacks Describe and Write on transactional id append-\*\. Grant it .*\n$/u),
    ]);
    await may.allow(APPEND);
  });

  it('at the start and during a run are named one after another, /readyz reports each, and the run continues automatically', async () => {
    await may.deny(GROUP, LANE, IDS);
    const run = place.fleet.start('run', '--follow');
    const status = await statusOf(run);
    let from = 0;
    for (const [missing, words] of [
      [GROUP, 'Describe and Read on group headgate'],
      [LANE, 'Write on transactional id headgate.followers.requests.0'],
      [IDS, 'Write on topic followers.ids'],
    ] as const) {
      const reason = `this user lacks ${words}`;
      await run.said((line) => line.event === 'log-unavailable' && line.reason === reason, { from });
      from = run.lines().length;
      const ready = await fetch(new URL('/readyz', status));
      expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(`kafka refuses since`)]);
      await may.allow(missing);
    }
    await run.said(({ event }) => event === 'lane-opened', { from });
    expect(
      run
        .lines()
        .map(({ msg = '' }) => msg)
        .join(),
    ).not.toContain('standing by');
    expect((await place.work.headgate('enqueue', 'followers', 'beta')).code).toBe(0);
    await run.said(({ event }) => event === 'page-written', { from });
    from = run.lines().length;
    await may.deny(IDS);
    await run.said(({ event, reason = '' }) => event === 'log-unavailable' && reason.includes('Write on topic followers.ids'), { from });
    await may.allow(IDS);
    await run.said(({ event }) => event === 'request-completed', { from });
    await place.fleet.stop();
    expect(await expectWhole(place)).toBe(4_000);
    expect(askedAgain(place)).toBe(0);
  });
});
