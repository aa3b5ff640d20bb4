import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LaneLostError } from '../../lane-errors.ts';
import type { LaneWriter, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { plainKafka } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import { type ProxiedBroker, holdFirst, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined).concurrent(`a newcomer to a lane${because}`, () => {
  let proxied: ProxiedBroker;
  beforeAll(async () => {
    proxied = await proxiedBroker(startKafkaBroker);
  });
  afterAll(() => proxied.close());

  let clients = 0;
  async function open(): Promise<TopicLog & { readonly client: string }> {
    const client = `log-${(clients += 1)}`;
    const log = await kafkaTopicLog({ brokers: proxied.brokers, clientId: client, replication: 1 });
    return Object.assign(log, { client });
  }

  it('knows everything that the previous holder commits until it is fenced', async () => {
    await using older = await open();
    await using newer = await open();
    const pages = await newPages(older);
    const writer = await older.openLane(pages.lane);
    await pages.write(writer);
    const fence = holdFirst(proxied, newer.client, ({ api }) => api === 'InitProducerId');
    const opening = newer.openLane(pages.lane);
    await fence.reached;
    await pages.write(writer, 2);
    fence.letGo();
    const newcomer = await opening;
    expect(newcomer.state.get('page')).toBe('2');
    await expect(pages.write(writer)).rejects.toThrow(LaneLostError);
    await pages.write(newcomer);
    await pages.verify(proxied.brokers, newer);
  });

  it('that gives up while it awaits a response ends at once with its reason, and takes nothing', async () => {
    await using older = await open();
    await using newer = await open();
    const pages = await newPages(older);
    const writer = await older.openLane(pages.lane);
    await pages.write(writer);
    const giveUp = new AbortController();
    const fence = holdFirst(proxied, newer.client, ({ api }) => api === 'InitProducerId');
    const opening = expect(newer.openLane(pages.lane, giveUp.signal)).rejects.toThrow('enough');
    await fence.reached;
    giveUp.abort(new Error('enough'));
    await opening;
    fence.letGo();
    await pages.write(writer, 2);
    await pages.verify(proxied.brokers, older);
  });

  it("waits for the newest state while another writer's open transaction hides it", async () => {
    await using older = await open();
    await using newer = await open();
    const pages = await newPages(older);
    const writer = await older.openLane(pages.lane);
    await pages.write(writer);
    const stranger = plainKafka(proxied.brokers).producer({ transactionalId: 'stranger', maxInFlightRequests: 1, idempotent: true });
    await stranger.connect();
    const transaction = await stranger.transaction();
    await transaction.send({ topic: pages.lane.state.topic, messages: [{ key: 'other', value: '' }] });
    await pages.write(writer, 2);
    let opened = false;
    const opening = newer.openLane(pages.lane).then((newcomer) => {
      opened = true;
      return newcomer;
    });
    await sleep(1_500);
    expect(opened).toBe(false);
    await transaction.abort();
    await stranger.disconnect();
    const newcomer = await opening;
    expect(newcomer.state.get('page')).toBe('2');
    await pages.write(newcomer);
    await pages.verify(proxied.brokers, newer);
  });

  it('that opens at the same time as another: one of them becomes the holder, and works', async () => {
    await using one = await open();
    await using other = await open();
    const logs = [one, other];
    const pages = await newPages(one);
    for (let round = 0; round < 6; round += 1) {
      const opened = await Promise.allSettled(logs.map((log) => log.openLane(pages.lane)));
      const writers = opened.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
      expect(otherErrors(opened)).toEqual([]);
      const [holder, ...others] = await holders(writers, pages.content(pages.next));
      expect(others).toEqual([]);
      pages.next += 1;
      await pages.write(holder as LaneWriter, 2);
      await Promise.all(writers.map((writer) => writer.close()));
    }
    await pages.verify(proxied.brokers, one);
  });

  /** Lets all writers write at once, and returns those whose transaction was committed. */
  async function holders(writers: readonly LaneWriter[], work: Parameters<LaneWriter['transaction']>[0]): Promise<readonly LaneWriter[]> {
    const done = await Promise.allSettled(writers.map((writer) => writer.transaction(work)));
    expect(otherErrors(done)).toEqual([]);
    return writers.filter((_, index) => done[index]?.status === 'fulfilled');
  }
});

function otherErrors(results: readonly PromiseSettledResult<unknown>[]): readonly unknown[] {
  return results.flatMap((result) => (result.status === 'rejected' && !(result.reason instanceof LaneLostError) ? [result.reason] : []));
}
