import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type KafkaBroker, type KafkaNode, startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { describe, expect, it } from 'vitest';
import { LaneLostError } from '../../lane-errors.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import type { LaneWriter, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import { type Deed, type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';
import { setTransactionVersion } from './transaction-version.fixture.ts';

const why = await whyNoKafkaBroker();
const isTorture = process.env['HEADGATE_TORTURE'] === '1';
const whySkipped = why ?? (isTorture ? undefined : 'only in torture');
const because = whySkipped === undefined ? '' : ` (skipped: ${whySkipped})`;
const LANES = 10;
/** As many transactions have to have met a broker that skipped their end markers. */
const LEAST_SKIPPED = 60;
const MOST_ROUNDS = 200;
/** A broker that stops has no leaders for a tenth of a second, some time in this one, ms. */
const STOPS_WITHIN_MS = 500;
/** A recovery has about so many requests. */
const RECOVERY = 40;
const LOGGED = '-Dorg.slf4j.simpleLogger.log.kafka.coordinator.transaction=info';
const SKIPPED = /Couldn't find leader endpoint for partitions/gu;

/** Writes something again and again. */
interface Writing {
  /** How much has been acknowledged. */
  readonly acknowledged: () => number;
  /** From now on: a cut connection at some request, or the log is cut off for good and another one continues. */
  readonly secondFault: () => Promise<void>;
  /** Resolves after what is in flight; throws what went wrong. */
  readonly end: () => Promise<void>;
  /** All that was acknowledged is there once and in order. */
  readonly verify: () => Promise<void>;
}

describe.skipIf(whySkipped !== undefined).for([1, 2])(
  `a broker that ends while transactions end, in protocol %i of transactions${because}`,
  (protocol) => {
    it(`keeps each of ${LEAST_SKIPPED} transactions whose end markers it has skipped`, async () => {
      let broker: KafkaBroker | undefined;
      await using proxied = await proxiedBroker(async ({ settings }) => {
        broker = await startKafkaBroker({ settings, environment: { ...process.env, JDK_JAVA_OPTIONS: LOGGED } });
        return broker;
      });
      const node = broker?.nodes[0];
      if (broker === undefined || node === undefined) throw new Error('There is no broker.');
      const logFile = join(broker.folder, `node-${node.id}`, 'server.log');
      const skipped = async (): Promise<number> => (await readFile(logFile, 'utf8')).match(SKIPPED)?.length ?? 0;
      if (protocol === 1) await setTransactionVersion(proxied.brokers, 0);

      const place = new Place(proxied);
      const all = await Promise.all([
        ...Array.from({ length: LANES }, () => writePages(place)),
        writeLists(place),
        writeLists(place),
        writeAppends(place),
        writeAppends(place),
      ]);
      let rounds = 0;
      for (let met = 0; met < LEAST_SKIPPED && rounds < MOST_ROUNDS; rounds += 1) {
        await furtherEach(all, 2);
        await ended(place, node, rounds % 3 === 2 ? 'SIGKILL' : 'SIGTERM');
        const struck = all.map((writing) => writing.secondFault());
        await node.start();
        await Promise.all(struck);
        met = await skipped();
        process.stdout.write(`protocol ${protocol}, round ${rounds}: ${met} skipped, ${place.faults} second faults\n`);
      }
      await furtherEach(all, 2);
      for (const writing of all) await writing.end();
      for (const writing of all) await writing.verify();
      const written = all.map((writing) => writing.acknowledged()).join(', ');
      process.stdout.write(
        `protocol ${protocol}: ${rounds} restarts, ${await skipped()} transactions skipped, ${place.faults} second faults; written: ${written}\n`,
      );
      expect(await skipped()).toBeGreaterThanOrEqual(LEAST_SKIPPED);
    });
  },
);

/** The broker's clients, and what becomes of their requests. */
class Place {
  readonly proxied: ProxiedBroker;
  readonly #cuts = new Map<string, { left: number; readonly deed: Deed }>();
  readonly #gone = new Set<string>();
  #hold: (() => Deed) | undefined;
  held = 0;
  faults = 0;

  constructor(proxied: ProxiedBroker) {
    this.proxied = proxied;
  }

  get brokers(): readonly string[] {
    return this.proxied.brokers;
  }

  async open(): Promise<{ readonly log: TopicLog; readonly clientId: string }> {
    const clientId = randomUUID();
    this.proxied.rules.set(clientId, ({ api }) => this.#deed(clientId, api));
    for (;;) {
      try {
        return { log: await kafkaTopicLog({ brokers: this.brokers, clientId, replication: 1 }), clientId };
      } catch (error) {
        // The broker is away.
        if (!(error instanceof TopicLogError) || error.code !== 'HEADGATE_TOPIC_LOG_OPEN') throw error;
      }
    }
  }

  /** From now on ends of transactions wait until they are let go, each for some time more; `answered` is called when one is acknowledged. */
  holdEnds(delay: () => Promise<unknown>, answered: () => void): () => void {
    const gate = Promise.withResolvers<void>();
    this.held = 0;
    this.#hold = () => ({ after: gate.promise.then(delay), answered });
    return () => {
      this.#hold = undefined;
      gate.resolve();
    };
  }

  cutSoon(clientId: string): void {
    this.#cuts.set(clientId, { left: Math.floor(RECOVERY * Math.random()), deed: Math.random() < 0.5 ? 'cut request' : 'cut answer' });
  }

  cutOff(clientId: string): void {
    this.faults += 1;
    this.#gone.add(clientId);
  }

  #deed(clientId: string, api: string): Deed {
    if (this.#gone.has(clientId)) return 'cut request';
    const cut = this.#cuts.get(clientId);
    if (cut !== undefined && (cut.left -= 1) < 0) {
      this.#cuts.delete(clientId);
      this.faults += 1;
      return cut.deed;
    }
    if (api !== 'EndTxn' || this.#hold === undefined) return 'pass';
    this.held += 1;
    return this.#hold();
  }
}

async function furtherEach(all: readonly Writing[], count: number): Promise<void> {
  const goals = all.map((writing) => ({ writing, goal: writing.acknowledged() + count }));
  await expect
    .poll(() => goals.every(({ writing, goal }) => writing.acknowledged() >= goal), { timeout: 120_000, interval: 20 })
    .toBe(true);
}

/** Ended by SIGTERM while transactions end, or by SIGKILL as soon as it has acknowledged the end of one. */
async function ended(place: Place, node: KafkaNode, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const { pid } = node;
  if (pid === undefined) throw new Error('The broker does not run.');
  const isKill = signal === 'SIGKILL';
  let isDone = false;
  const end = (): void => {
    if (!isDone) process.kill(pid, signal);
    isDone = true;
  };
  const delay = (): Promise<unknown> => sleep(isKill ? 0 : STOPS_WITHIN_MS * Math.random());
  const letGo = place.holdEnds(delay, isKill ? end : () => undefined);
  await expect.poll(() => place.held, { timeout: 120_000, interval: 10 }).toBeGreaterThan(LANES / 2);
  if (!isKill) end();
  letGo();
  await expect.poll(() => node.pid, { timeout: 120_000 }).toBeUndefined();
}

/** A lane of pages: each has records in two partitions, a checkpoint and a group's offset. */
async function writePages(place: Place): Promise<Writing> {
  let { log, clientId } = await place.open();
  const pages = await newPages(log);
  const acknowledged: number[] = [];
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const mine = log;
      let writer: LaneWriter | undefined;
      try {
        writer = await mine.openLane(pages.lane);
        let page = Number(writer.state.get('page') ?? -1) + 1;
        expect(page, 'an acknowledged page is gone').toBeGreaterThan(Math.max(-1, ...acknowledged));
        for (; !isOver && log === mine; page += 1) {
          const by = writer;
          await by.transaction(pages.content(page));
          acknowledged.push(page);
        }
        pages.next = page;
      } catch (error) {
        if (log === mine && !(error instanceof LaneLostError)) throw error;
      } finally {
        if (log !== mine) void mine.close().catch(() => undefined);
        else await writer?.close();
      }
    }
  })();
  work.catch(() => undefined);
  return {
    acknowledged: () => acknowledged.length,
    async secondFault() {
      if (Math.random() < 0.6) return place.cutSoon(clientId);
      const gone = { log, clientId };
      // The writer of this page, if one is in flight, is cut off; it is closed, which ends what it waits for.
      place.cutOff(gone.clientId);
      ({ log, clientId } = await place.open());
      await gone.log.close().catch(() => undefined);
    },
    async end() {
      isOver = true;
      await work;
    },
    async verify() {
      expect(acknowledged).toEqual([...new Set(acknowledged)]);
      await pages.verify(place.brokers, log);
      await log.close();
    },
  };
}

/** Lists: a lane is opened for what isn't marked there yet, and closed. */
async function writeLists(place: Place): Promise<Writing> {
  let { log, clientId } = await place.open();
  const name = `list-${randomUUID()}`;
  const [topic, state] = [`${name}.requests`, `${name}.state`];
  await log.createTopics([
    { name: topic, partitions: 2 },
    { name: state, partitions: 1, compacted: true },
  ]);
  const lane = { name, state: { topic: state, partition: 0 }, writes: [0, 1].map((partition) => ({ topic, partition })) };
  const CHUNKS = 5;
  let lists = 0;
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const mine = log;
      let writer: LaneWriter | undefined;
      try {
        writer = await mine.openLane(lane);
        const by = writer;
        for (let entry = Number(by.state.get('entry') ?? -1) + 1; entry < (lists + 1) * CHUNKS; entry += 1)
          await by.transaction((tx) => {
            tx.append([0, 1].map((partition) => ({ topic, partition, key: String(entry), value: String(entry) })));
            tx.checkpoint('entry', String(entry));
          });
        await by.close();
        if (log === mine) lists += 1;
      } catch (error) {
        if (log === mine && !(error instanceof LaneLostError)) throw error;
      }
    }
  })();
  work.catch(() => undefined);
  return {
    acknowledged: () => lists,
    async secondFault() {
      if (Math.random() < 0.6) return place.cutSoon(clientId);
      const gone = { log, clientId };
      place.cutOff(gone.clientId);
      ({ log, clientId } = await place.open());
      await gone.log.close().catch(() => undefined);
    },
    async end() {
      isOver = true;
      await work;
    },
    async verify() {
      const seen = await committedRecords(place.brokers, topic);
      const all = Array.from({ length: lists * CHUNKS }, (_, entry) => String(entry));
      for (const partition of [0, 1])
        expect(seen.filter((record) => record.partition === partition).map(({ value }) => value)).toEqual(all);
      await log.close();
    },
  };
}

/** Appends outside of lanes, to two topics each. */
async function writeAppends(place: Place): Promise<Writing> {
  const { log, clientId } = await place.open();
  const topics = ['a', 'b'].map((letter) => `append-${letter}-${randomUUID()}`);
  await log.createTopics(topics.map((name) => ({ name, partitions: 1 })));
  const offsets: (readonly number[])[] = [];
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const value = String(offsets.length);
      const positions = await log.append(topics.map((topic) => ({ topic, partition: 0, key: 'k', value })));
      offsets.push(positions.map(({ offset }) => offset));
    }
  })();
  work.catch(() => undefined);
  return {
    acknowledged: () => offsets.length,
    secondFault: async () => {
      place.cutSoon(clientId);
      await Promise.resolve();
    },
    async end() {
      isOver = true;
      await work;
    },
    async verify() {
      for (const [index, topic] of topics.entries()) {
        const seen = await committedRecords(place.brokers, topic);
        expect(seen.map(({ value }) => value)).toEqual(offsets.map((_, value) => String(value)));
        expect(seen.map(({ offset }) => offset)).toEqual(offsets.map((pair) => pair[index]));
      }
      await log.close();
    },
  };
}
