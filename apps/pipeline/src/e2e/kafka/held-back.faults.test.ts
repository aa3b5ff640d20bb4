import { describe, expect, it } from 'vitest';
import { BECAUSE, type KafkaPlace, WHY_NOT, kafkaPlace } from './kafka-place.fixture.ts';
import { type PlainTransaction, plainKafka } from './kafkajs.fixture.ts';
import { joined } from './lane-moves.fixture.ts';

const users = { alpha: { followers: 100, pageSize: 100 }, beta: { followers: 100, pageSize: 100 } };

describe.skipIf(WHY_NOT !== undefined)(`requests blocked by another client's open transaction${BECAUSE}`, () => {
  it('are reported and waited for, and processed when it has ended; Ctrl-C ends the wait', async () => {
    await using place = await kafkaPlace({ users, listed: [], more: '  count: 100\n', status: '{ port: 0 }' });
    const { fleet, work } = place;
    expect((await work.headgate('run')).code).toBe(0);
    await using stranger = await openTransaction(place, jobFor('beta'));
    expect((await work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);

    const stopped = fleet.start('run');
    await stopped.said(({ event }) => event === 'requests-blocked');
    stopped.signal('SIGINT');
    expect((await stopped.ended).code).toBe(130);

    const run = fleet.start('run');
    const status = await joined(run);
    const { msg } = await run.said(({ event }) => event === 'requests-blocked');
    expect(msg).toMatch(/^followers lane 0: since \S+ another client's open transaction \(offset \d+\) blocks jobs; /u);
    const page = await fetch(new URL('screen.json', status));
    expect(await page.text()).toMatch(/open transaction \(offset \d+\) blocks jobs/u);
    await stranger.abort();
    expect((await run.ended).code).toBe(0);
    expect(run.lines().filter(({ event }) => event === 'request-completed' || event === 'requests-readable')).toHaveLength(2);
    expect(place.service.requests).toHaveLength(1);
  });

  it("are processed with --follow, too, with the other client's own when it commits", async () => {
    await using place = await kafkaPlace({ users, listed: [], more: '  count: 100\n' });
    const run = place.fleet.start('run', '--follow');
    await run.said(({ event }) => event === 'lane-opened');
    await using stranger = await openTransaction(place, jobFor('beta'));
    await run.said(({ event }) => event === 'requests-blocked');
    await stranger.commit();
    await run.said(({ event }) => event === 'request-completed');
    await run.said(({ event }) => event === 'requests-readable');
    expect(place.service.requests).toHaveLength(1);
  });
});

describe.skipIf(WHY_NOT !== undefined)(`pages blocked by another client's open transaction${BECAUSE}`, () => {
  it('are compared when it has ended, and the wait is reported', async () => {
    await using place = await kafkaPlace({ users, emit: '[pages, changes]' });
    const { fleet, work } = place;
    expect((await work.headgate('run')).code).toBe(0);
    await using stranger = await openTransaction(place, { topic: 'followers.pages', key: 'stranger', value: '{}' });
    expect((await work.headgate('enqueue', 'followers', 'alpha')).code).toBe(0);

    const run = fleet.start('run');
    await run.said(({ msg }) => /^@alpha: the comparison .* waits for an open transaction in followers\.pages/u.test(msg ?? ''));
    await stranger.abort();
    expect((await run.ended).code).toBe(0);
    expect(run.lines().filter(({ event }) => event === 'after-written')).toMatchObject([{ key: '@alpha', counts: {} }]);
  });
});

function jobFor(screenName: string) {
  return { topic: 'followers.requests', key: `@${screenName}`, value: JSON.stringify({ screenName }) };
}

/** An open transaction of another client that has written a record to partition 0. */
async function openTransaction(
  { broker }: KafkaPlace,
  { topic, key, value }: { readonly topic: string; readonly key: string; readonly value: string },
): Promise<PlainTransaction & AsyncDisposable> {
  const producer = plainKafka(broker.brokers).producer({ transactionalId: 'stranger', maxInFlightRequests: 1 });
  await producer.connect();
  const transaction = await producer.transaction();
  await transaction.send({ topic, messages: [{ key, value, partition: 0 }] });
  return Object.assign(transaction, { [Symbol.asyncDispose]: () => producer.disconnect() });
}
