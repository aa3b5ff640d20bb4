import { setTimeout as sleep } from 'node:timers/promises';
import { partitionForKey } from '@headgate/topics';
import { describe, expect, inject, it } from 'vitest';
import { committed } from './committed.fixture.ts';
import { askedAgain, expectWhole, refusals } from './crawls.fixture.ts';
import { type SharedKafkaPlace, sharedKafkaPlace } from './kafka-place.fixture.ts';
import { type PlainMessage, sendPlainly } from './kafkajs.fixture.ts';

const { brokers, why } = inject('kafkaBroker');
const because = why === undefined ? '' : `: skipped, ${why}`;

describe.skipIf(why !== undefined)(`headgate's commands on Kafka${because}`, () => {
  it('plan, run, read, enqueue and replay, and a malformed job of any producer becomes a dead letter', async () => {
    const users = { alpha: { followers: 1_200, pageSize: 100 }, beta: { followers: 350, pageSize: 100 }, empty: { followers: 0 } };
    await using place = await sharedKafkaPlace(brokers, { users, lanes: 2, credentials: 2, more: '  count: 100\n' });
    await planAndRun(place);
    await readLikeAnybody(place);
    await enqueueFromListAndStdin(place);
    await takeMalformedJobs(place);
    await replayOnce(place);
    expect(refusals(place)).toBe(0);
  });
});

describe.skipIf(why !== undefined)(`headgate run on Kafka, stopped by SIGTERM,${because}`, () => {
  it('writes the work in flight, and later runs request nothing twice', async () => {
    const users = { alpha: { followers: 4_000, pageSize: 100 }, beta: { followers: 4_000, pageSize: 100 } };
    await using place = await sharedKafkaPlace(brokers, { users, latencyMs: 200, more: '  count: 100\n' });
    const { fleet, service } = place;
    for (const [stops, args] of [
      [1, ['run']],
      [2, ['run', '--follow']],
    ] as const) {
      const before = service.requests.length;
      const run = fleet.start(...args);
      while (service.requests.length < before + 5 * stops) await sleep(5);
      run.signal('SIGTERM');
      const { code, stdout, stderr } = await run.ended;
      expect([code, stdout, stderr.includes('rror')]).toEqual([130, '', false]);
    }
    expect((await fleet.start('run').ended).code).toBe(0);
    expect([service.requests.length, askedAgain(place)]).toEqual([80, 0]);
    expect(await expectWhole(place)).toBe(8_000);
  });
});

describe.skipIf(why !== undefined)(`headgate check --online on Kafka${because}`, () => {
  it('takes no lane from a run, and the next run counts its request', async () => {
    const users = { alpha: { followers: 1 }, beta: { followers: 1 } };
    await using place = await sharedKafkaPlace(brokers, { users, window: { kind: 'rolling', limit: 3, windowMs: 3_600_000 } });
    const { fleet, service, work } = place;
    const run = fleet.start('run', '--follow');
    await expect.poll(() => service.requests.length).toBe(2);
    const beside = await work.headgate('check', '--online');
    expect([beside.code, beside.stdout]).toEqual([0, expect.stringMatching(/followers app-0 +not tested: a run \(process \d+\) uses it/u)]);
    run.signal('SIGTERM');
    const { stderr } = await run.ended;
    expect(stderr).not.toContain('taken');
    expect(service.requests).toHaveLength(2);

    expect((await work.headgate('check', '--online')).stdout).toMatch(/followers app-0 +answers\n/u);
    expect((await work.headgate('check', '--online')).stdout).toMatch(/followers app-0 +not tested: its budget is used up until/u);
    expect([service.requests.length, refusals(place)]).toEqual([3, 0]);
  });
});

/** Tests that `plan` lists the jobs, and that a second run sends no request. */
async function planAndRun(place: SharedKafkaPlace): Promise<void> {
  const { work, service } = place;
  const plan = await work.headgate('plan');
  expect([plan.code, plan.stdout]).toEqual([0, expect.stringMatching(/@alpha[\s\S]*@beta/)]);
  const first = await work.headgate('run');
  expect([first.code, first.stdout, first.stderr]).toEqual([0, '', expect.stringContaining('3 jobs, 17 pages')]);
  expect([service.requests.length, askedAgain(place)]).toEqual([17, 0]);
  const second = await work.headgate('run');
  expect([second.code, second.stderr]).toEqual([0, expect.stringContaining('Nothing to do')]);
  expect(service.requests).toHaveLength(17);
  expect((await work.headgate('plan')).stdout).toBe('All jobs are done.\n');
}

/** Tests that `read` shows exactly the records that other readers of committed records see. */
async function readLikeAnybody(place: SharedKafkaPlace): Promise<void> {
  const { work, broker, prefix, service } = place;
  for (const topic of [`${prefix}followers.ids`, `${prefix}followers.pages`, `${prefix}followers.state`]) {
    const { code, stdout } = await work.headgate('read', topic, '--json');
    const texts = stdout.split('\n').filter((line) => line !== '');
    const own = texts.map((line) => {
      const { partition, offset, key } = JSON.parse(line) as { partition: number; offset: number; key: string };
      return { partition, offset, key, value: line.slice(line.indexOf(',"value":') + 9, -1) };
    });
    expect(code).toBe(0);
    const seen = await committed(broker.brokers, topic);
    // `read` shows a tombstone as null.
    const spelled = seen.map(({ value, ...place }) => ({ ...place, value: value ?? 'null' }));
    expect(byPlace(own)).toEqual(byPlace(spelled));
  }
  const ids = (...args: readonly string[]): Promise<string[]> =>
    work.headgate('read', `${prefix}followers.ids`, '--values', ...args).then(({ stdout }) => stdout.split('\n').slice(0, -1));
  const [all, tail, ofBeta] = [await ids(), await ids('--tail', '7'), await ids('--key', '@beta', '--since', '1h')];
  const partitions = new Set(['@alpha', '@beta'].map((key) => partitionForKey(key, place.lanes)));
  expect([all.length, tail.length, ofBeta.length]).toEqual([1_550, 7 * partitions.size, 350]);
  expect(tail.filter((line) => !all.includes(line))).toEqual([]);
  expect(await ids('--since', '2999-01-01')).toEqual([]);
  expect(await expectWhole(place)).toBe(1_550);
  expect(service.requests).toHaveLength(17);
}

/** Tests that `enqueue` takes arguments and stdin, that each job is a new crawl, and that an invalid job adds nothing. */
async function enqueueFromListAndStdin({ work, service, broker, prefix }: SharedKafkaPlace): Promise<void> {
  const before = (await committed(broker.brokers, `${prefix}followers.requests`)).length;
  expect((await work.headgate('enqueue', 'followers', 'beta', '@empty')).code).toBe(0);
  expect((await work.headgateWith({ input: '# some\n\n@beta\n' }, 'enqueue', 'followers')).code).toBe(0);
  const refused = await work.headgate('enqueue', 'followers', 'beta', 'no user at all');
  expect([refused.code, refused.stderr]).toEqual([2, expect.stringContaining('Nothing was added')]);
  expect(await committed(broker.brokers, `${prefix}followers.requests`)).toHaveLength(before + 3);
  const run = await work.headgate('run');
  expect([run.code, run.stderr]).toEqual([0, expect.stringContaining('3 jobs, 9 pages')]);
  expect(service.requests).toHaveLength(17 + 9);
}

/** Tests that a malformed job of any client becomes a dead letter with its reason, and blocks nothing. */
async function takeMalformedJobs({ work, broker, prefix, service }: SharedKafkaPlace): Promise<void> {
  const garbage = 'x\u0000\u{1F4A9}"'.repeat(150_000);
  const jobs: readonly (PlainMessage & { readonly reason: RegExp })[] = [
    { key: 'a', value: 'not JSON', reason: /isn't JSON/ },
    { key: 'b', value: '{"screenName":"x","userId":"1"}', reason: /either screenName or userId/ },
    { key: 'c', value: '{"userId":12}', reason: /must be a string of digits/ },
    { key: 'd', value: null, reason: /no value/ },
    { key: null, value: '{"screenname":"x"}', reason: /either screenName or userId/ },
    { key: 'e', value: garbage, reason: /isn't JSON/ },
    { key: 'f', value: '[]', reason: /malformed/, headers: { ce_id: 'own', other: 'ü' } },
    { key: 'g', value: '', reason: /isn't JSON/ },
  ];
  const good: readonly PlainMessage[] = [
    { key: null, value: '{"screenName":"empty"}', headers: { any: 'thing' } },
    { key: '@elsewhere', value: '{"screenName":"@beta","count":100,"more":"is ignored"}' },
  ];
  await sendPlainly(broker.brokers, `${prefix}followers.requests`, [
    ...jobs.map(({ key, value, headers = {} }) => ({ key, value, headers })),
    ...good,
  ]);
  const asked = service.requests.length;
  const run = await work.headgate('run');
  expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('2 jobs, 5 pages')]);
  expect(service.requests.length - asked).toBe(5);

  const deadLetters = await committed(broker.brokers, `${prefix}followers.dead-letters`);
  const reasons = deadLetters.map(({ key, value }) => {
    const { error } = JSON.parse(value ?? '') as { error: { code: string; message: string } };
    return { key, code: error.code, message: error.message };
  });
  expect(reasons).toHaveLength(jobs.length);
  for (const { key, reason } of jobs) {
    const deadLetter =
      key === null ? reasons.find((one) => one.key?.startsWith(`${prefix}followers.requests`)) : reasons.find((one) => one.key === key);
    expect(deadLetter).toMatchObject({ code: 'HEADGATE_MALFORMED_REQUEST', message: expect.stringMatching(reason) as string });
  }
  const kept = deadLetters.find(({ key }) => key === 'e')?.value ?? '';
  expect((JSON.parse(kept) as { request: unknown }).request).toBe(garbage);

  const again = await work.headgate('run');
  expect([again.code, again.stderr]).toEqual([0, expect.stringContaining('Nothing to do')]);
}

/** Tests that `replay` skips malformed jobs, and that `dismiss` closes their dead letters. */
async function replayOnce({ work, broker, prefix }: SharedKafkaPlace): Promise<void> {
  const replay = await work.headgate('replay', `${prefix}followers.dead-letters`);
  expect([replay.code, replay.stderr]).toEqual([0, expect.stringContaining(`0 re-enqueued into ${prefix}followers.requests, 8 skipped`)]);
  expect(replay.stderr).toMatch(/c: The job is malformed: userId must be a string of digits/);
  const none = await work.headgate('replay', `${prefix}followers.dead-letters`);
  expect([none.code, none.stderr]).toEqual([0, expect.stringContaining('8 skipped')]);
  expect((await work.headgate('plan')).stdout).toMatch(/^followers: 8 dead letters are open/mu);
  expect((await work.headgate('dismiss', 'followers', '--key', 'c')).stderr).toBe('1 dead letter dismissed\n');
  expect((await work.headgate('dismiss', 'followers')).stderr).toBe('7 dead letters dismissed\n');
  expect((await work.headgate('run', '--fail-on-dead-letters')).code).toBe(0);
  expect(await committed(broker.brokers, `${prefix}followers.dead-letters`)).toHaveLength(8);
  expect((await work.headgate('replay', `${prefix}followers.pages`)).code).toBe(2);
  expect((await work.headgate('read', `${prefix}followers.idz`)).code).toBe(2);
}

function byPlace<Place extends { readonly partition: number; readonly offset: number }>(records: readonly Place[]): readonly Place[] {
  return records.toSorted((one, other) => one.partition - other.partition || one.offset - other.offset);
}
