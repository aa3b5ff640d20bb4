import { describe, expect, it } from 'vitest';
import { committed } from './committed.fixture.ts';
import { expectWhole } from './crawls.fixture.ts';
import { BECAUSE, type KafkaPlace, WHY_NOT, kafkaPlace, kafkaYaml } from './kafka-place.fixture.ts';
import { type PlainAdmin, plainKafka } from './kafkajs.fixture.ts';

const STATE = 'followers.state';
const WINDOW = { kind: 'rolling', limit: 100_000, windowMs: 1_000 } as const;

describe.skipIf(WHY_NOT !== undefined)(`what check and run report about topics on Kafka${BECAUSE}`, () => {
  it('is the same for missing topics, more or fewer lanes, a low size limit and a missing state, and check and plan create nothing', async () => {
    const users = { alpha: { followers: 300, pageSize: 100 } };
    await using place = await kafkaPlace({ users, lanes: 2, credentials: 2, more: '  count: 100\n' });
    await using admin = await adminOf(place);
    await missing(place, admin);
    await moreLanes(place);
    expect(await said(place, 'check')).toEqual([0, expect.stringMatching(/answers, all topics exist$/mu)]);
    await fewerLanes(place);
    await littleRoom(place, admin);
    await sparePartitions(place, admin);
    await withoutState(place, admin);
    await requestsMadeAnew(place, admin);
    await otherGroup(place);
  });

  it('a run whose pages are deleted reports that, and the next one continues after them', async () => {
    const users = { alpha: { followers: 2_000, pageSize: 20 } };
    await using place = await kafkaPlace({ users, latencyMs: 50, more: '  count: 100\n' });
    await using admin = await adminOf(place);
    const run = place.fleet.start('run');
    await run.said(({ event }) => event === 'page-written');
    await admin.deleteTopics({ topics: ['followers.pages'] });
    const { code, stderr } = await run.ended;
    expect([code, stderr]).toEqual([
      1,
      expect.stringMatching(/Topic \\"followers\.pages\\" was deleted while .* The next run creates it again/u),
    ]);
    const asked = place.service.requests.length;
    expect((await place.work.headgate('run')).code).toBe(0);
    // Up to five pages that weren't written yet are requested again.
    expect(place.service.requests.length).toBeLessThan(100 + 7);
    expect(asked).toBeGreaterThan(0);
    await withoutRequests(place, admin);
  });

  it('a run whose pages topic takes only smaller records ends, and the next one writes dead letters that say what to set; with a higher limit, replay succeeds', async () => {
    const users = { alpha: { followers: 6_000, pageSize: 1_000 }, beta: { followers: 10 } };
    await using place = await kafkaPlace({ users, latencyMs: 200, compression: 'none', more: '  count: 1000\n' });
    await using admin = await adminOf(place);
    const first = place.fleet.start('run', '--follow');
    await first.said(({ event }) => event === 'page-written');
    await takes(admin, 'followers.pages', 18_000);
    expect((await first.ended).code).toBe(1);
    const run = place.fleet.start('run', '--follow');
    const failed = await run.said(({ event }) => event === 'request-failed');
    expect(failed.msg).toMatch(
      /@alpha: page \d needs \d{5} bytes, but followers\.pages accepts at most 17695 bytes\. Raise its max\.message\.bytes from 18000 to at least \d{5}/u,
    );
    expect((await place.work.headgate('enqueue', 'followers', 'beta')).code).toBe(0);
    await run.said(({ event, msg }) => event === 'request-completed' && msg?.includes('beta') === true, {
      from: run.lines().indexOf(failed),
    });
    await place.fleet.stop();

    await takes(admin, 'followers.pages', 1_000_000);
    expect((await place.work.headgate('replay', 'followers.dead-letters')).code).toBe(0);
    expect((await place.work.headgate('run')).code).toBe(0);
    const ids = (await committed(place.broker.brokers, 'followers.ids')).map(
      ({ key, value }) => `${key} ${/"id":"(\d+)"/u.exec(value ?? '')?.[1]}`,
    );
    // beta was crawled twice.
    expect([ids.length, new Set(ids).size]).toEqual([6_020, 6_010]);
  });

  it('a run whose state is deleted ends with that error, and so does the next one, even if another command has recreated the topic', async () => {
    const users = { alpha: { followers: 100, pageSize: 100 }, beta: { followers: 2_000, pageSize: 10 } };
    await using place = await kafkaPlace({ users, latencyMs: 50, more: '  count: 100\n' });
    await using admin = await adminOf(place);
    const run = place.fleet.start('run', '--follow');
    await run.said(({ event }) => event === 'request-completed');
    await admin.deleteTopics({ topics: [STATE] });
    const { code, stderr } = await run.ended;
    expect([code, stderr]).toEqual([1, expect.stringMatching(/Topic \\"followers\.state\\" was deleted while this run used it/u)]);
    expect(stderr).not.toMatch(/\\n\s+at /u);
    const asked = place.service.requests.length;
    expect((await place.work.headgate('enqueue', 'followers', 'beta')).code).toBe(0);
    expect(await admin.listTopics()).toContain(STATE);
    expect(await said(place, 'run')).toEqual([1, expect.stringMatching(/has no records for followers\.requests partition 0/u)]);
    expect(place.service.requests).toHaveLength(asked);
  });

  it('a broker restart ends nothing', async () => {
    await using place = await kafkaPlace({ users: { alpha: { followers: 3_000, pageSize: 100 } }, latencyMs: 50, more: '  count: 100\n' });
    const run = place.fleet.start('run');
    while (place.service.requests.length < 5) await new Promise((resolve) => setTimeout(resolve, 10));
    for (const node of place.broker.nodes) {
      await node.kill();
      await node.start();
    }
    const { code, stderr } = await run.ended;
    expect(code, stderr).toBe(0);
    expect(await expectWhole(place)).toBe(3_000);
  });
});

/** Tests that `check` counts the missing topics without creating them, and that `plan` works without them. */
async function missing(place: KafkaPlace, admin: PlainAdmin): Promise<void> {
  expect(await said(place, 'check')).toEqual([0, expect.stringMatching(/answers, 8 topics will be created/u)]);
  const plan = await place.work.headgate('plan');
  expect([plan.code, plan.stdout]).toEqual([0, expect.stringMatching(/@alpha +from the start/u)]);
  expect(await admin.listTopics()).toEqual([]);
  await configure(place, { replication: 3 });
  await expectTheSame(place, /can't have 3 replicas: only one broker is reachable\. .* lower topics\.replication to 1/u);
  expect(await admin.listTopics()).toEqual([]);
  await configure(place, {});
}

/** Tests that partitions for more lanes are added, and that `check` and `run` report them. */
async function moreLanes(place: KafkaPlace): Promise<void> {
  await configure(place, { lanes: 1, credentials: 1 });
  expect((await place.work.headgate('run')).code).toBe(0);
  await configure(place, {});
  const growth = /followers\.requests \(1 to 2\), .*followers\.state \(1 to 2\)$/mu;
  expect(await said(place, 'check')).toEqual([
    0,
    expect.stringMatching(new RegExp(`all topics exist, partitions will be added to ${growth.source}`, 'mu')),
  ]);
  expect(await said(place, 'run')).toEqual([
    0,
    expect.stringMatching(new RegExp(`partitions added for more lanes: ${growth.source}`, 'mu')),
  ]);
}

/** Tests that fewer lanes than partitions are refused, with advice. */
async function fewerLanes(place: KafkaPlace): Promise<void> {
  await configure(place, { lanes: 1, credentials: 2 });
  for (const topic of ['requests', 'state']) {
    const count = `followers\\.${topic}" has 2 partitions, but topics\\.lanes is 1: no lane would process the other ones`;
    await expectTheSame(place, new RegExp(`${count}.* Set topics\\.lanes to 2, with as many credentials\\. Or: Start over`, 'u'));
  }
  await configure(place, {});
}

/** Tests that partitions that a user adds to a topic of records stay empty, and that runs continue. */
async function sparePartitions(place: KafkaPlace, admin: PlainAdmin): Promise<void> {
  await admin.createPartitions({ topicPartitions: [{ topic: 'followers.pages', count: 5 }] });
  const warning = /Topic "followers\.pages" has 5 partitions, but records go only to partitions 0 to 1\./u;
  expect(await said(place, 'check')).toEqual([0, expect.stringMatching(new RegExp(`warning: ${warning.source}`, 'u'))]);
  expect((await place.work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
  expect(await said(place, 'run')).toEqual([0, expect.stringMatching(warning)]);
  const offsets = await admin.fetchTopicOffsets('followers.pages');
  expect(offsets.flatMap(({ partition, offset }) => (partition > 1 ? [offset] : []))).toEqual(['0', '0', '0']);
}

/** Tests that a run doesn't start if dead letters don't fit into their topic, and warns if pages don't fit into theirs. */
async function littleRoom(place: KafkaPlace, admin: PlainAdmin): Promise<void> {
  await takes(admin, 'followers.dead-letters', 1_000);
  await expectTheSame(place, /Topic "followers\.dead-letters" has max\.message\.bytes=1000, but needs at least 16676/u);
  await takes(admin, 'followers.dead-letters', 1_000_000);
  await takes(admin, 'followers.pages', 17_000);
  const warning = /Topic "followers\.pages" has max\.message\.bytes=17000, but its usual records may need 18999/u;
  // The second warning is about the dead letters: `takes` has removed their other settings, so they aren't kept forever.
  expect(await said(place, 'check')).toEqual([
    0,
    expect.stringMatching(new RegExp(`warning: ${warning.source}.*[^]*no problems, 2 warnings`, 'u')),
  ]);
  expect(await said(place, 'run')).toEqual([0, expect.stringMatching(warning)]);
  await takes(admin, 'followers.pages', 1_000_000);
}

/** Tests that a run without its state requests nothing again until the user deletes the group with Kafka's tool. */
async function withoutState(place: KafkaPlace, admin: PlainAdmin): Promise<void> {
  const asked = place.service.requests.length;
  await admin.deleteTopics({ topics: [STATE] });
  await expectTheSame(place, /followers\.state has no records for followers\.requests partition \d, .*--delete --group headgate$/mu);
  expect(place.service.requests).toHaveLength(asked);
  await admin.deleteGroups(['headgate']);
  expect((await place.work.headgate('run')).code).toBe(0);
  expect(place.service.requests.length).toBeGreaterThan(asked);
}

/** Tests that a run whose requests topic is deleted stops with advice, and doesn't offer to continue. */
async function withoutRequests({ work }: KafkaPlace, admin: PlainAdmin): Promise<void> {
  expect((await work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
  const run = work.start('run');
  await expect.poll(() => run.text().stderr).toMatch(/@alpha pages? 1/u);
  await admin.deleteTopics({ topics: ['followers.requests'] });
  const { code, stderr } = await run.ended;
  expect([code, stderr]).toEqual([
    1,
    expect.stringMatching(/Topic "followers\.requests" was deleted while this run used it\. Continuing would treat new jobs as finished/u),
  ]);
  expect(stderr).toMatch(/^Stopped after /mu);
  expect(stderr).not.toMatch(/To continue|can't be reached|^ +at /mu);
}

/** Tests that a recreated requests topic is refused, because new jobs would have the offsets of finished ones. */
async function requestsMadeAnew(place: KafkaPlace, admin: PlainAdmin): Promise<void> {
  expect((await place.work.headgate('enqueue', 'followers', 'alpha', 'alpha', 'alpha')).code).toBe(0);
  expect((await place.work.headgate('run')).code).toBe(0);
  const asked = place.service.requests.length;
  await admin.deleteTopics({ topics: ['followers.requests'] });
  expect((await place.work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);
  await expectTheSame(
    place,
    /followers\.requests partition \d ends at offset \d+, .* finished everything before \d+\. .* set topics\.group/u,
  );
  // A recreated topic is refused even if it is longer than the old one.
  expect((await place.work.headgate('enqueue', 'followers', ...Array.from({ length: 50 }, () => 'alpha'))).code).toBe(0);
  await expectTheSame(place, /followers\.requests partition \d has the topic ID \S+, not \S+, but .* set topics\.group/u);
  expect(place.service.requests).toHaveLength(asked);
}

/** Tests that a group under another name is told that all jobs run again. */
async function otherGroup(place: KafkaPlace): Promise<void> {
  await configure(place, { group: 'headgaet' });
  const words =
    /Group "headgaet" starts over: group "headgate" processed followers\.requests \(last \d+ \w ago\), .* Did the group's name change by mistake\?/u;
  expect(await said(place, 'check')).toEqual([0, expect.stringMatching(new RegExp(`warning: ${words.source}`, 'u'))]);
  expect(await said(place, 'run')).toEqual([0, expect.stringMatching(words)]);
}

/** Expects `check` and `run` to end with 1, and with the same words. */
async function expectTheSame(place: KafkaPlace, words: RegExp): Promise<void> {
  for (const command of ['check', 'run'] as const) {
    const [code, text] = await said(place, command);
    expect({ command, code, text }).toEqual({ command, code: 1, text: expect.stringMatching(words) as string });
    expect(text).not.toMatch(/\n\s+at /u);
  }
}

async function said({ work }: KafkaPlace, command: 'check' | 'run'): Promise<readonly [number | null, string]> {
  const { code, stdout, stderr } = await work.headgate(command);
  return [code, command === 'check' ? stdout : stderr];
}

async function configure(place: KafkaPlace, changes: Partial<Parameters<typeof kafkaYaml>[0]>): Promise<void> {
  const { work, broker, service, users } = place;
  const base = { brokers: broker.brokers, url: service.url, window: WINDOW, lanes: 2, credentials: 2, listed: Object.keys(users) };
  await work.write('headgate.yaml', kafkaYaml({ ...base, more: '  count: 100\n', ...changes }));
}

async function takes(admin: PlainAdmin, name: string, bytes: number): Promise<void> {
  const configEntries = [{ name: 'max.message.bytes', value: String(bytes) }];
  await admin.alterConfigs({ validateOnly: false, resources: [{ type: 2, name, configEntries }] });
}

async function adminOf({ broker }: KafkaPlace): Promise<PlainAdmin & AsyncDisposable> {
  const admin = plainKafka(broker.brokers).admin();
  await admin.connect();
  return Object.assign(admin, { [Symbol.asyncDispose]: () => admin.disconnect() });
}
