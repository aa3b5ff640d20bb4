import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import { AS_USER, DENYING_BROKER, type Denial, type Denials, denials } from './denials.fixture.ts';
import { BECAUSE, type KafkaPlace, WHY_NOT, kafkaPlace, kafkaYaml } from './kafka-place.fixture.ts';

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
    const options = { brokers, url: place.service.url, window, topics: AS_USER };
    await place.work.write('headgate.yaml', kafkaYaml({ ...options, listed: ['alpha'], more: '  count: 100\n' }));
  });
  afterAll(async () => {
    await may?.[Symbol.asyncDispose]();
    await place?.[Symbol.asyncDispose]();
  });

  it('to create topics are all named by check and run, and the next run creates the topics once they are granted', async () => {
    await may.deny(CREATE);
    const { code, stdout } = await place.work.headgate('check');
    const topics = ['changes', 'crawls', 'dead-letters', 'ids', 'pages', 'requests', 'state'].map((name) => `followers.${name}`).join(', ');
    expect([code, stdout]).toEqual([1, expect.stringContaining(`Create on topics ${topics}\n`)]);
    await expectRefused(`Create on topics ${topics}`);
    await may.allow(CREATE);
    expect((await place.fleet.start('run').ended).code).toBe(0);
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

  it('at the start and during a run are named, the run ends, and the next one continues', async () => {
    for (const [missing, words] of [
      [GROUP, 'Describe and Read on group headgate'],
      [LANE, 'Write on transactional id headgate.followers.requests.0'],
      [IDS, 'Write on topic followers.ids'],
    ] as const) {
      await may.deny(missing);
      await expectRefused(words);
      await may.allow(missing);
    }
    const run = place.fleet.start('run', '--follow');
    await run.said(({ event }) => event === 'lane-opened');
    expect((await place.work.headgate('enqueue', 'followers', 'beta')).code).toBe(0);
    await run.said(({ event }) => event === 'page-written');
    await may.deny(IDS);
    const { code, stderr } = await run.ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining('This user lacks Write on topic followers.ids')]);
    await may.allow(IDS);
    expect((await place.fleet.start('run').ended).code).toBe(0);
    expect(await expectWhole(place)).toBe(4_000);
    // The pages that weren't written yet when the right was lost.
    expect(askedAgain(place)).toBeLessThanOrEqual(5);
  });

  async function expectRefused(words: string): Promise<void> {
    const { code, stderr } = await place.fleet.start('run').ended;
    expect([code, stderr]).toEqual([1, expect.stringContaining(`This user lacks ${words}`)]);
  }
});
