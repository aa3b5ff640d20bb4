import { whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import type { RequestHead } from './kafka-frames.fixture.ts';
import { type Deed, type ProxiedBroker } from './proxied-broker.fixture.ts';
import { brokerOfProtocol } from './transaction-version.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined).concurrent.for([1, 2])(
  `a connection that is cut, in protocol %i of transactions${because}`,
  (protocol) => {
    let proxied: ProxiedBroker;
    beforeAll(async () => {
      proxied = await brokerOfProtocol(protocol);
    });
    afterAll(() => proxied.close());

    interface Writing {
      readonly log: TopicLog;
      readonly rule: (rule?: (request: RequestHead) => Deed) => void;
      /** Applies `deed` to the `nth` request named `api` from now on, counted from 0. The returned function tells whether that request has come. */
      readonly strike: (blow: { readonly api: string; readonly nth: number; readonly deed: Deed }) => () => boolean;
    }

    let clients = 0;
    async function open(onTestFinished: (close: () => Promise<void>) => void): Promise<Writing> {
      const clientId = `writer-${(clients += 1)}`;
      const log = await kafkaTopicLog({ brokers: proxied.brokers, clientId, replication: 1 });
      onTestFinished(() => log.close());
      const rule: Writing['rule'] = (rule = () => 'pass') => void proxied.rules.set(clientId, rule);
      return {
        log,
        rule,
        strike({ api, nth, deed }) {
          let count = 0;
          rule((request) => (request.api === api && count++ === nth ? deed : 'pass'));
          return () => count > nth;
        },
      };
    }

    const deeds = ['cut request', 'cut answer'] as const;

    it.for(deeds)('at any request of a transaction: %s', async (deed, { expect, onTestFinished }) => {
      const { log, strike } = await open(onTestFinished);
      const pages = await newPages(log);
      const writer = await log.openLane(pages.lane);
      await pages.write(writer, 2);
      // One Produce request contains the partitions of the records and of the state, because one broker leads all of them.
      const announced: Readonly<Record<string, number>> = protocol === 1 ? { AddPartitionsToTxn: 1, AddOffsetsToTxn: 1 } : {};
      const requests = { ...announced, Produce: 1, TxnOffsetCommit: 1, EndTxn: 1 };
      for (const [api, times] of Object.entries(requests)) {
        for (let nth = 0; nth < times; nth += 1) {
          const struck = strike({ api, nth, deed });
          await pages.write(writer);
          expect(`${api} ${nth} ${struck()}`).toBe(`${api} ${nth} true`);
        }
      }
      await pages.write(writer);
      await pages.verify(proxied.brokers, log);
    });

    it.for(deeds)('at any request of an opening: %s', async (deed, { expect, onTestFinished }) => {
      const { log, strike } = await open(onTestFinished);
      const pages = await newPages(log);
      // An opening reads the state, fences, and writes end markers to all partitions and polls for them. Then it writes the barrier, polls for its
      // end, and reads the state up to it.
      const ends = { AddPartitionsToTxn: protocol === 1 ? 2 : 1, AddOffsetsToTxn: 1, EndTxn: 2, OffsetFetch: 1 };
      const requests = { InitProducerId: 1, ...ends, ListOffsets: 5, Produce: 1, Fetch: 3 };
      for (const [api, times] of Object.entries(requests)) {
        for (let nth = 0; nth < times; nth += 1) {
          const struck = strike({ api, nth, deed });
          const writer = await log.openLane(pages.lane);
          expect(`${api} ${nth} ${struck()}`).toBe(`${api} ${nth} true`);
          expect(writer.state.get('page')).toBe(pages.next === 0 ? undefined : String(pages.next - 1));
          await pages.write(writer);
          await writer.close();
        }
      }
      await pages.verify(proxied.brokers, log);
    });

    it('again and again, even while the lane recovers', async ({ expect, onTestFinished }) => {
      const { log, rule } = await open(onTestFinished);
      const pages = await newPages(log);
      const random = lcg(Number(process.env['HEADGATE_SEED'] ?? 1));
      let cuts = 0;
      rule(() => {
        if (random() > 0.02) return 'pass';
        cuts += 1;
        return random() < 0.5 ? 'cut request' : 'cut answer';
      });
      const writer = await log.openLane(pages.lane);
      await pages.write(writer, process.env['HEADGATE_TORTURE'] ? 500 : 20);
      rule();
      expect(cuts).toBeGreaterThan(5);
      await pages.verify(proxied.brokers, log);
    });

    it('at every response to a send until kafkajs gives up: the next page, of as many records, isn’t mistaken for that one', async ({
      expect,
      onTestFinished,
    }) => {
      const { log, rule } = await open(onTestFinished);
      const pages = await newPages(log, { partitions: 1 });
      const writer = await log.openLane(pages.lane);
      await pages.write(writer);
      let left = 7;
      rule(({ api }) => (api === 'Produce' && left-- > 0 ? 'cut answer' : 'pass'));
      await pages.write(writer);
      expect(left).toBeLessThan(0);
      await pages.write(writer, 2);
      await pages.verify(proxied.brokers, log);
    });

    it.for(deeds)('at any request of an append outside of lanes: %s', async (deed, { expect, onTestFinished }) => {
      const { log, strike } = await open(onTestFinished);
      const topic = `appended-${deed === 'cut request' ? 0 : 1}`;
      await log.createTopics([{ name: topic, partitions: 1 }]);
      const isFenceStruck = strike({ api: 'InitProducerId', nth: 0, deed });
      await log.append([{ topic, partition: 0, key: 'k', value: '0' }]);
      expect(isFenceStruck()).toBe(true);
      const positions: (number | undefined)[] = [];
      let next = 1;
      const requests = { ...(protocol === 1 && { AddPartitionsToTxn: 1 }), Produce: 1, EndTxn: 1, ListOffsets: 1 };
      for (const [api, times] of Object.entries(requests)) {
        for (let nth = 0; nth < times; nth += 1) {
          const struck = strike({ api, nth, deed });
          const [position] = await log.append([{ topic, partition: 0, key: 'k', value: String(next) }]);
          positions.push(position?.offset);
          expect(struck()).toBe(true);
          next += 1;
        }
      }
      const seen = await committedRecords(proxied.brokers, topic);
      expect(seen.map(({ value }) => value)).toEqual(Array.from({ length: next }, (_, index) => String(index)));
      expect(seen.slice(1).map(({ offset }) => offset)).toEqual(positions);
    });
  },
);

/** Returns a generator of numbers from 0 to below 1, always the same ones for the same seed. */
function lcg(seed: number): () => number {
  let state = seed >>> 0;
  return () => (state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0) / 2 ** 32;
}
