import { type KafkaBroker, type KafkaNode, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import type { TopicLog } from '../../topic-log.ts';
import type { AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';
import { newPages } from './pages.fixture.ts';
import { writeOn } from './write-on.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const isTorture = process.env['HEADGATE_TORTURE'] !== undefined;
const KILLS = isTorture ? 20 : 4;
const FROZEN_MS = isTorture ? 60_000 : 10_000;

describe
  .skipIf(why !== undefined)
  .concurrent(`a broker that goes away${because}`, { timeout: 600_000 + 12_000 * KILLS + 2 * FROZEN_MS }, () => {
    async function start(): Promise<KafkaBroker & { readonly node: KafkaNode }> {
      const broker = await startKafkaBroker();
      return Object.assign(broker, { node: broker.nodes[0] as KafkaNode });
    }

    function open({ brokers }: KafkaBroker, onAvailability: (change: AvailabilityChange) => void = () => undefined): Promise<TopicLog> {
      return kafkaTopicLog({ brokers, replication: 1, onAvailability });
    }

    async function opened(
      broker: KafkaBroker,
    ): Promise<{ readonly log: TopicLog; readonly changes: readonly AvailabilityChange[] } & AsyncDisposable> {
      const changes: AvailabilityChange[] = [];
      const log = await open(broker, (change) => changes.push(change));
      return { log, changes, [Symbol.asyncDispose]: () => log.close() };
    }

    it(`killed ${KILLS} times while a lane writes: every page is there once`, async ({ expect }) => {
      await using broker = await start();
      await using log = await open(broker);
      const pages = await newPages(log);
      await using writing = writeOn(pages, await log.openLane(pages.lane));
      for (let kill = 0; kill < KILLS; kill += 1) {
        await writing.further(2);
        await sleep(300 * Math.random());
        await broker.node.kill();
        await broker.node.start();
      }
      await writing.further(2);
      await writing.end();
      expect(await pages.verify(broker.brokers, log)).toBeGreaterThan(2 * KILLS);
    });

    it(`frozen for ${FROZEN_MS / 1_000} s: a transaction waits for it, and closing does not`, async ({ expect }) => {
      await using broker = await start();
      const { node } = broker;
      const changes: AvailabilityChange[] = [];
      await using log = await open(broker, (change) => changes.push(change));
      const pages = await newPages(log);
      const writer = await log.openLane(pages.lane);
      await pages.write(writer);
      const [idle, busy] = [await open(broker), await open(broker)];
      for (const other of [idle, busy]) {
        const others = await newPages(other);
        const lane = await other.openLane(others.lane);
        await others.write(lane);
        void other.read({ topic: pages.topic, follow: true })[Symbol.asyncIterator]().next();
        if (other === busy) void others.write(lane).catch(() => undefined);
      }
      // On a busy machine, an outage may already have been reported, so wait for its end.
      await expect.poll(() => changes.at(-1)?.available ?? true).toBe(true);
      changes.length = 0;
      node.pause();
      const frozen = performance.now();
      try {
        let done = false;
        const written = pages.write(writer, 2).then(() => (done = true));
        written.catch(() => undefined);
        await Promise.all([
          expect(within(5_000, idle.close()), 'closing an idle log').resolves.toBe(true),
          expect(within(5_000, busy.close()), 'closing a log that writes').resolves.toBe(true),
          expect(
            within(
              8_000,
              open(broker).catch((error: unknown) => expect(error).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_OPEN' })),
            ),
            'opening',
          ).resolves.toBe(true),
        ]);
        await sleep(FROZEN_MS - (performance.now() - frozen));
        expect(done).toBe(false);
        await expect.poll(() => changes).toEqual([{ available: false, reason: expect.any(String), sinceMs: expect.any(Number) }]);
        node.resume();
        await written;
      } finally {
        node.resume();
      }
      // After a broker resumes, a partition can have no leader for a moment. Such an outage is reported, too, so check only the last change.
      expect(changes.at(-1)).toEqual({ available: true });
      await pages.verify(broker.brokers, log);
    });

    it('frozen for 2 s: nothing is reported; frozen longer, each waiting log reports it within 6 s', async ({ expect }) => {
      await using broker = await start();
      const { node } = broker;
      await using reading = await opened(broker);
      await using writing = await opened(broker);
      await using listing = await opened(broker);
      const pages = await newPages(writing.log);
      await using writes = writeOn(pages, await writing.log.openLane(pages.lane));
      const records = reading.log.read({ topic: pages.topic, follow: true })[Symbol.asyncIterator]();
      const reads = (async () => {
        while ((await records.next()).done !== true);
      })();
      reads.catch(() => undefined);
      await writes.further(2);
      const logs = [reading, writing, listing];
      const silent = { available: false, reason: `${broker.brokers[0]} isn't responding`, sinceMs: expect.any(Number) };
      try {
        node.pause();
        const listed = listing.log.listTopics();
        await sleep(2_000);
        node.resume();
        await listed;
        await writes.further(2);
        for (const { changes } of logs) expect(changes).not.toContainEqual(silent);

        node.pause();
        const pausedMs = Date.now();
        listing.log.listTopics().catch(() => undefined);
        await Promise.all(logs.map(({ changes }) => expect.poll(() => changes).toContainEqual(silent)));
        // The report comes several seconds after the start of the outage, but it names the start.
        for (const { changes } of logs) {
          const last = changes.at(-1);
          expect(last?.available === false && last.sinceMs - pausedMs).toBeLessThan(4_500);
        }
      } finally {
        node.resume();
      }
      for (const { changes } of logs) await expect.poll(() => changes.at(-1)).toEqual({ available: true });
    });

    it('killed, and still down when its log is closed: nothing reports that it is back', async ({ expect }) => {
      await using broker = await start();
      await using opening = await opened(broker);
      const { log, changes } = opening;
      const pages = await newPages(log);
      const writer = await log.openLane(pages.lane);
      await pages.write(writer);
      const stop = new AbortController();
      const reading = (async () => {
        for await (const _ of log.read({ topic: pages.topic, follow: true, signal: stop.signal }));
      })();
      await broker.node.kill();
      const writing = expect(pages.write(writer)).rejects.toThrow();
      await expect.poll(() => changes.at(-1)?.available).toBe(false);
      stop.abort();
      await reading;
      await log.close();
      await writing;
      expect(changes.at(-1)?.available).toBe(false);
    });

    it('absent from the start: opening reports that soon', async ({ expect }) => {
      const opening = kafkaTopicLog({ brokers: ['127.0.0.1:1'] });
      const refused = expect(opening).rejects.toThrow(
        /^The topic log on Kafka at 127\.0\.0\.1:1 can't be opened: .*ECONNREFUSED.*Check that the brokers are running/u,
      );
      expect(await within(10_000, refused)).toBe(true);
    });
  });

/** Resolves to true if `work` resolves within `limitMs`, and otherwise to false. Rejects if `work` rejects in time. */
async function within(limitMs: number, work: Promise<unknown>): Promise<boolean> {
  const limit = new AbortController();
  const late = sleep(limitMs, false, { signal: limit.signal }).catch(() => false);
  try {
    return await Promise.race([work.then(() => true), late]);
  } finally {
    limit.abort();
  }
}
