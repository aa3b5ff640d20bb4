import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { type KafkaBroker, type KafkaNode, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { describe, expect, it } from 'vitest';
import { LaneLostError } from '../../lane-errors.ts';
import { TopicLogError } from '../../topic-log-error.ts';
import type { LaneSpec, TopicLog } from '../../topic-log.ts';
import { plainCluster } from '../client/plain-cluster.fixture.ts';
import { kafkaTopicLog } from '../index.ts';
import { committedRecords } from './committed-records.fixture.ts';
import { newPages } from './pages.fixture.ts';
import { type Deed, type ProxiedBroker, proxiedCluster } from './proxied-broker.fixture.ts';
import { LOGS_MARKERS, skippedTransactions } from './skipped-transactions.fixture.ts';
import { setTransactionVersion } from './transaction-version.fixture.ts';

const why = await whyNoKafkaBroker();
const isTorture = process.env['HEADGATE_TORTURE'] === '1';
const whySkipped = why ?? (isTorture ? undefined : 'only in torture');
const because = whySkipped === undefined ? '' : ` (skipped: ${whySkipped})`;
const LANES = 10;
/** Minimum number of the driver's transactions whose end markers must have been skipped. */
const MIN_SKIPPED = 60;
const MAX_ROUNDS = 200;
/** Number of rounds if no minimum is required, such as with brokers before Kafka 4.1. */
const ROUNDS = 30;
const NO_LEADER = -1;
/** Approximate number of requests in a recovery. */
const RECOVERY = 40;
/** Prefix of the transactional IDs of Kafka's own producers. */
const JAVA = 'java-';

interface Writing {
  /** Rejects when the client can't continue. */
  readonly work: Promise<void>;
  readonly acknowledged: () => number;
  /** Causes a second fault: a connection is cut at some later request, or the log is cut off for good and another one continues. */
  readonly secondFault: () => Promise<void>;
  /** Stops after the write in flight. Rejects if a write failed. */
  readonly end: () => Promise<void>;
  /** Checks that everything that was acknowledged exists once and in order. */
  readonly verify: () => Promise<void>;
}

describe.skipIf(whySkipped !== undefined).for([
  { protocol: 1, nodes: 1 },
  { protocol: 2, nodes: 1 },
  { protocol: 1, nodes: 3 },
  { protocol: 2, nodes: 3 },
] as const)(`brokers that end while transactions end: %o${because}`, ({ protocol, nodes }) => {
  it('keep each transaction whose end markers they have skipped', async () => {
    await using broker = await startKafkaBroker({ nodes, environment: { ...process.env, ...LOGS_MARKERS } });
    await using proxied = await proxiedCluster(broker);
    if (protocol === 1 && !isBeforeFault(broker)) await setTransactionVersion(proxied.brokers, 0);
    const skipped = async (): Promise<readonly string[]> => {
      const logs = broker.nodes.map(({ id }) => skippedTransactions(join(broker.folder, `node-${id}`, 'server.log')));
      return (await Promise.all(logs)).flatMap((found) => [...found]);
    };
    const place = new Place(proxied, nodes);
    const ours = await Promise.all([
      ...Array.from({ length: LANES }, () => write(place, newPagesKind)),
      ...Array.from({ length: 2 }, () => write(place, newListKind)),
      ...Array.from({ length: 2 }, () => write(place, newAppendKind)),
    ]);
    const all = [...ours, ...(await Promise.all(Array.from({ length: 2 }, () => writeByJava(place, broker))))];
    const told = async (): Promise<{ readonly count: number; readonly text: string }> => {
      const found = await skipped();
      const javas = found.filter((name) => name.startsWith(JAVA)).length;
      const count = found.length - javas;
      return { count, text: `${count} skipped, ${javas} of Kafka's producer, ${place.faults} second faults` };
    };
    // With several nodes, a partition has no leader only when all its replicas are away at once, so no minimum is required.
    const least = nodes > 1 || isBeforeFault(broker) ? 0 : MIN_SKIPPED;
    let rounds = 0;
    for (let met = 0; rounds < (least === 0 ? ROUNDS : MAX_ROUNDS) && (least === 0 || met < least); rounds += 1) {
      await furtherEach(ours, 2);
      const ending = rounds % 2 === 0 ? broker.nodes : broker.nodes.slice(rounds % nodes, (rounds % nodes) + 1);
      await ended(place, ending, rounds % 3 === 2 ? 'SIGKILL' : 'SIGTERM');
      const struck = all.map((writing) => writing.secondFault());
      await Promise.all(ending.map((node) => node.start()));
      await Promise.all(struck);
      const { count, text } = await told();
      met = count;
      process.stdout.write(`${nodes} nodes, protocol ${protocol}, round ${rounds}: ${text}\n`);
    }
    await furtherEach(ours, 2);
    for (const writing of all) await writing.end();
    for (const writing of all) await writing.verify();
    const { count, text } = await told();
    const written = all.map((writing) => writing.acknowledged()).join(', ');
    process.stdout.write(`${nodes} nodes, protocol ${protocol}: ${rounds} restarts, ${text}; written, and all of it read: ${written}\n`);
    expect(count).toBeGreaterThanOrEqual(least);
  });
});

/** True for Kafka 3. Kafka 4.1 was the first release that skips end markers. */
function isBeforeFault({ jars }: KafkaBroker): boolean {
  return jars.includes('kafka_2.13-3.');
}

/** The clients of the brokers, and what happens to their requests. */
class Place {
  readonly proxied: ProxiedBroker;
  readonly #replication: number;
  readonly #cuts = new Map<string, { left: number; readonly deed: Deed }>();
  readonly #gone = new Set<string>();
  #hold: Deed | undefined;
  held = 0;
  faults = 0;

  constructor(proxied: ProxiedBroker, replication: number) {
    this.proxied = proxied;
    this.#replication = replication;
  }

  get brokers(): readonly string[] {
    return this.proxied.brokers;
  }

  watch(clientId: string): void {
    this.proxied.rules.set(clientId, ({ api }) => this.#deed(clientId, api));
  }

  async open(): Promise<{ readonly log: TopicLog; readonly clientId: string }> {
    const clientId = randomUUID();
    this.watch(clientId);
    for (;;) {
      try {
        return { log: await kafkaTopicLog({ brokers: this.brokers, clientId, replication: this.#replication }), clientId };
      } catch (error) {
        // The broker is down, so try again.
        if (!(error instanceof TopicLogError) || error.code !== 'HEADGATE_TOPIC_LOG_OPEN') throw error;
      }
    }
  }

  /** Delays the ends of transactions from now on, until the returned function is called. `answered` is called when one is acknowledged. */
  holdEnds(answered: () => void): () => void {
    const gate = Promise.withResolvers<void>();
    this.held = 0;
    this.#hold = { after: gate.promise, answered };
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
    return this.#hold;
  }
}

async function furtherEach(all: readonly Writing[], count: number): Promise<void> {
  const goals = all.map((writing) => ({ writing, goal: writing.acknowledged() + count }));
  const behind = (): readonly number[] => goals.flatMap(({ writing, goal }, index) => (writing.acknowledged() < goal ? [index] : []));
  const failed = new Promise<never>((_, reject) => {
    for (const { work } of all) work.catch(reject);
  });
  const caughtUp = async (): Promise<void> => {
    await expect.poll(behind, { interval: 20 }).toEqual([]);
  };
  await Promise.race([caughtUp(), failed]);
}

/** Ends nodes with SIGTERM while transactions end, or with SIGKILL as soon as a node has acknowledged the end of one. */
async function ended(place: Place, nodes: readonly KafkaNode[], signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  const isKill = signal === 'SIGKILL';
  let isDone = false;
  const end = (): void => {
    if (!isDone) for (const { pid } of nodes) if (pid !== undefined) process.kill(pid, signal);
    isDone = true;
  };
  const letGo = place.holdEnds(isKill ? end : () => undefined);
  await expect.poll(() => place.held, { interval: 10 }).toBeGreaterThanOrEqual(LANES);
  if (!isKill) await untilLeaderless(nodes[0]?.address ?? '', end);
  letGo();
  await expect.poll(() => nodes.map(({ pid }) => pid)).toEqual(nodes.map(() => undefined));
}

/** Stops a broker, and waits until it reports partitions without leaders. After that, it accepts ends of transactions only for a moment. */
async function untilLeaderless(address: string, stop: () => void): Promise<void> {
  const cluster = plainCluster([address]);
  try {
    await cluster.anyBroker();
    stop();
    for (;;) {
      const { topicMetadata } = await cluster.metadata(null, address);
      if (topicMetadata.some(({ partitionMetadata }) => partitionMetadata.some(({ leader }) => leader === NO_LEADER))) return;
    }
  } catch {
    // The broker has already ended.
  } finally {
    cluster.close();
  }
}

/** One way to write records with a log, and the check of what was written. */
interface Kind {
  /** True if a write in flight can only be completed by the log that began it. */
  readonly isOfOneLog?: boolean;
  /** Writes until `isOver` returns true. */
  write(log: TopicLog, isOver: () => boolean): Promise<void>;
  acknowledged(): number;
  verify(place: Place, log: TopicLog): Promise<void>;
}

async function write(place: Place, newKind: (log: TopicLog) => Promise<Kind>): Promise<Writing> {
  let client = await place.open();
  const kind = await newKind(client.log);
  let isOver = false;
  const work = (async () => {
    while (!isOver) {
      const mine = client;
      try {
        await kind.write(mine.log, () => isOver || client !== mine);
      } catch (error) {
        if (client === mine && !(error instanceof LaneLostError)) throw error;
      }
    }
  })();
  work.catch(() => undefined);
  return {
    work,
    acknowledged: () => kind.acknowledged(),
    async secondFault() {
      if (kind.isOfOneLog === true || Math.random() < 0.6) return place.cutSoon(client.clientId);
      const gone = client;
      place.cutOff(gone.clientId);
      client = await place.open();
      // Closing the old log ends its calls, which would otherwise wait forever.
      await gone.log.close();
    },
    async end() {
      isOver = true;
      await work;
    },
    async verify() {
      await kind.verify(place, client.log);
      await client.log.close();
    },
  };
}

/** A lane of pages: each has records in two partitions, a checkpoint and a group's offset. */
async function newPagesKind(first: TopicLog): Promise<Kind> {
  const pages = await newPages(first);
  const acknowledged: number[] = [];
  return {
    async write(log, isOver) {
      await using writer = await log.openLane(pages.lane);
      const next = Number(writer.state.get('page') ?? -1) + 1;
      expect(next, 'an acknowledged page is gone').toBeGreaterThan(acknowledged.at(-1) ?? -1);
      pages.next = next;
      while (!isOver()) {
        await pages.write(writer);
        acknowledged.push(pages.next - 1);
      }
    },
    acknowledged: () => acknowledged.length,
    async verify({ brokers }, log) {
      expect(acknowledged).toEqual([...new Set(acknowledged)]);
      await pages.verify(brokers, log);
    },
  };
}

/** Lists: for each one, a lane is opened, writes the entries that its state doesn't contain yet, and is closed. */
async function newListKind(first: TopicLog): Promise<Kind> {
  const name = `list-${randomUUID()}`;
  const [topic, state] = [`${name}.requests`, `${name}.state`];
  await first.createTopics([
    { name: topic, partitions: 2 },
    { name: state, partitions: 1, compacted: true },
  ]);
  const lane: LaneSpec = { name, state: { topic: state, partition: 0 }, writes: placesOf(topic) };
  const ENTRIES = 5;
  let lists = 0;
  return {
    async write(log) {
      const writer = await log.openLane(lane);
      for (let entry = Number(writer.state.get('entry') ?? -1) + 1; entry < (lists + 1) * ENTRIES; entry += 1)
        await writer.transaction((tx) => {
          tx.append(placesOf(topic).map((place) => ({ ...place, key: String(entry), value: String(entry) })));
          tx.checkpoint('entry', String(entry));
        });
      await writer.close();
      lists += 1;
    },
    acknowledged: () => lists,
    async verify({ brokers }) {
      const seen = await committedRecords(brokers, topic);
      const all = Array.from({ length: lists * ENTRIES }, (_, entry) => String(entry));
      for (const { partition } of placesOf(topic)) expect(valuesIn(seen, partition)).toEqual(all);
    },
  };
}

/** Appends outside of lanes. Each append writes to two topics. Another log can't complete it. */
async function newAppendKind(first: TopicLog): Promise<Kind> {
  const topics = ['a', 'b'].map((letter) => `append-${letter}-${randomUUID()}`);
  await first.createTopics(topics.map((name) => ({ name, partitions: 1 })));
  const offsets: (readonly number[])[] = [];
  return {
    isOfOneLog: true,
    async write(log, isOver) {
      while (!isOver()) {
        const value = String(offsets.length);
        const positions = await log.append(topics.map((topic) => ({ topic, partition: 0, key: 'k', value })));
        offsets.push(positions.map(({ offset }) => offset));
      }
    },
    acknowledged: () => offsets.length,
    async verify({ brokers }) {
      for (const [index, topic] of topics.entries()) {
        const seen = await committedRecords(brokers, topic);
        expect(seen.map(({ value }) => value)).toEqual(offsets.map((_, value) => String(value)));
        expect(seen.map(({ offset }) => offset)).toEqual(offsets.map((pair) => pair[index]));
      }
    },
  };
}

/** Kafka's own producer, for comparison. Its process isn't killed while it writes, because nothing would then end its hanging transaction. */
async function writeByJava(place: Place, { jars }: KafkaBroker): Promise<Writing> {
  const id = `${JAVA}${randomUUID()}`;
  const { log, clientId } = await place.open();
  await log.createTopics([{ name: id, partitions: 2 }]);
  await log.close();
  place.proxied.rules.delete(clientId);
  place.watch(id);
  const program = fileURLToPath(import.meta.resolve('./java-writer.fixture.java'));
  const frugally = ['-Xmx128m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-Dorg.slf4j.simpleLogger.defaultLogLevel=off'];
  const args = [...frugally, '-cp', jars, program, place.brokers.join(','), id];
  const java = spawn('java', args, { stdio: ['pipe', 'pipe', 'inherit'] });
  const acknowledged: string[] = [];
  createInterface(java.stdout).on('line', (number) => acknowledged.push(number));
  return {
    work: Promise.resolve(),
    acknowledged: () => acknowledged.length,
    async secondFault() {
      await Promise.resolve(place.cutSoon(id));
    },
    async end() {
      java.stdin.end();
      // Kafka's producer can hang for good, because a coordinator can refuse its EndTxn until the next restart.
      const late = setTimeout(() => java.kill('SIGKILL'), 60_000);
      if (java.exitCode === null) await once(java, 'exit');
      clearTimeout(late);
    },
    async verify() {
      const seen = await committedRecords(place.brokers, id);
      for (const { partition } of placesOf(id)) {
        const all = valuesIn(seen, partition).map(Number);
        expect(all).toEqual([...new Set(all)].toSorted((a, b) => a - b));
        expect(acknowledged.map(Number).filter((number) => !all.includes(number))).toEqual([]);
      }
    },
  };
}

function placesOf(topic: string): readonly { readonly topic: string; readonly partition: number }[] {
  return [0, 1].map((partition) => ({ topic, partition }));
}

function valuesIn(seen: Awaited<ReturnType<typeof committedRecords>>, partition: number): readonly (string | null)[] {
  return seen.filter((record) => record.partition === partition).map(({ value }) => value);
}
