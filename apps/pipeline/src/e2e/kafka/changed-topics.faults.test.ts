import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { committed } from './committed.fixture.ts';
import { askedAgain, expectWhole } from './crawls.fixture.ts';
import type { Ended } from '../headgate-process.fixture.ts';
import { BECAUSE, type KafkaPlace, TORTURE, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { type PlainAdmin, plainKafka } from './kafkajs.fixture.ts';
import { joined, pagesAsked, usersPerLane } from './lane-moves.fixture.ts';

const LANES = 2;
const PAGES = 60;
const PAGE_SIZE = 20;
const USERS = usersPerLane({ lanes: LANES, each: 2, user: { followers: PAGES * PAGE_SIZE, pageSize: PAGE_SIZE } });
/** Pages of a crawl that can be requested and not written yet, if the budget is ample. */
const AHEAD = 8;
const ALL = ['pages', 'ids', 'crawls', 'requests', 'state', 'dead-letters'].map((name) => `followers.${name}`).concat('headgate.state');
const LOST = /lost its newest records while this run used it|was deleted while this run used it/u;

describe.skipIf(WHY_NOT !== undefined || !TORTURE)(`topics that change during a run${BECAUSE}`, { timeout: 300_000 }, () => {
  it('get more partitions: both processes finish, a job in a new partition is reported, and the next run refuses', async () => {
    await using place = await crawls();
    await using admin = await adminOf(place);
    const runs = [place.fleet.start('run', '--follow'), place.fleet.start('run', '--follow')];
    await Promise.all(runs.map(joined));
    while (pagesAsked(place) < 20) await sleep(10);
    await admin.createPartitions({ topicPartitions: ALL.map((topic) => ({ topic, count: 4 })) });
    await sendTo(place, 'followers.requests', 3);
    const isReported = (): boolean =>
      runs.some((run) => run.lines().some(({ msg = '' }) => /no run works the jobs in partitions? .*3/u.test(msg)));
    await expect.poll(isReported).toBe(true);
    await expect.poll(() => pagesAsked(place)).toBe(4 * PAGES);
    expect((await place.fleet.stop()).map(({ code }) => code)).toEqual([130, 130]);
    expect(await expectWhole(place)).toBe(4 * PAGES * PAGE_SIZE);
    expect(askedAgain(place)).toBe(0);
    expect(await place.work.headgate('run')).toMatchObject({ code: 1, stderr: expect.stringMatching(/has 4 partitions/u) });
  });

  it.for(['followers.pages', 'followers.requests'])('lose their records to DeleteRecords, and crawls continue: %s', async (topic) => {
    await using place = await crawls();
    await using admin = await adminOf(place);
    const run = place.fleet.start('run');
    await joined(run);
    while (pagesAsked(place) < 30) await sleep(10);
    await admin.fetchTopicOffsets(topic);
    const partitions = [0, 1].map((partition) => ({ partition, offset: '-1' }));
    await expect.poll(() => done(admin.deleteTopicRecords({ topic, partitions }))).toBe(true);
    expect((await run.ended).code).toBe(0);
    expect([pagesAsked(place), askedAgain(place)]).toEqual([4 * PAGES, 0]);
    await expectConsecutive(place);
  });

  it.for([
    { topic: 'followers.pages', next: 0 },
    { topic: 'followers.ids', next: 0 },
    { topic: 'followers.crawls', next: 0 },
    { topic: 'followers.requests', next: 1 },
    { topic: 'followers.state', next: 1 },
  ])('are recreated: the run reports it, and the next ones continue or refuse: $topic', async ({ topic, next }) => {
    await using place = await crawls();
    await using admin = await adminOf(place);
    const run = place.fleet.start('run');
    await joined(run);
    while (pagesAsked(place) < 40) await sleep(10);
    await recreate(admin, topic);
    expect(lastWords(await run.ended)).toEqual([1, expect.stringMatching(LOST)]);
    // A refusal must not write what the run after it would take for progress.
    for (let again = 0; again < 2; again += 1) expect((await place.work.headgate('run')).code).toBe(next);
    expect(askedAgain(place)).toBeLessThanOrEqual(4 * AHEAD);
    expect(pagesAsked(place) === 4 * PAGES).toBe(next === 0);
    await expectConsecutive(place, next === 0);
  });
});

function crawls(): Promise<KafkaPlace> {
  const more = `  count: ${PAGE_SIZE}\n`;
  return kafkaPlace({ users: USERS, lanes: LANES, credentials: LANES, latencyMs: 60, status: '{ port: 0 }', more });
}

type Admin = PlainAdmin & AsyncDisposable & { createTopics(options: object): Promise<boolean> };

async function adminOf({ broker }: KafkaPlace): Promise<Admin> {
  const admin = plainKafka(broker.brokers).admin() as Omit<Admin, typeof Symbol.asyncDispose>;
  await admin.connect();
  return Object.assign(admin, { [Symbol.asyncDispose]: () => admin.disconnect() });
}

async function recreate(admin: Admin, topic: string): Promise<void> {
  const settings = { 'message.timestamp.type': 'LogAppendTime', 'cleanup.policy': topic.endsWith('.state') ? 'compact' : 'delete' };
  const configEntries = Object.entries(settings).map(([name, value]) => ({ name, value }));
  await admin.deleteTopics({ topics: [topic] });
  // The broker can create the topic, and respond that it is too late.
  const isThere = async (): Promise<boolean> => {
    await done(admin.createTopics({ topics: [{ topic, numPartitions: LANES, replicationFactor: 1, configEntries }] }));
    return (await admin.listTopics()).includes(topic);
  };
  await expect.poll(isThere).toBe(true);
}

async function sendTo({ broker }: KafkaPlace, topic: string, partition: number): Promise<void> {
  const producer = plainKafka(broker.brokers).producer({ allowAutoTopicCreation: false });
  await producer.connect();
  const message = { key: '@elsewhere', value: '{"screenName":"elsewhere"}', partition };
  await expect.poll(() => done(producer.send({ topic, messages: [message] }))).toBe(true);
  await producer.disconnect();
}

/** Expects the committed pages of each crawl to be consecutive, each there once, and, with `isWhole`, to end with the last one. */
async function expectConsecutive({ broker }: KafkaPlace, isWhole = true): Promise<void> {
  const pages = new Map<string, number[]>();
  for (const { value } of await committed(broker.brokers, 'followers.pages')) {
    const { user, page } = JSON.parse(value ?? '') as { readonly user: string; readonly page: number };
    pages.set(user, [...(pages.get(user) ?? []), page]);
  }
  expect(pages.size).toBe(4);
  for (const [user, [first = 0, ...rest]] of pages) {
    const last = isWhole ? PAGES : first + rest.length;
    expect([user, first, ...rest]).toEqual([user, ...Array.from({ length: last - first + 1 }, (_, index) => first + index)]);
  }
}

function lastWords({ code, stderr }: Ended): readonly [number | null, string] {
  return [code, stderr.slice(-2_000)];
}

async function done(work: Promise<unknown>): Promise<boolean> {
  return await work.then(
    () => true,
    () => false,
  );
}
