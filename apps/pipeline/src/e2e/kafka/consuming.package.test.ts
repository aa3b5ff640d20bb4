import { randomUUID } from 'node:crypto';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { type RecordPosition, partitionForKey } from '@headgate/topics';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { followersRequest, recordSchemas } from '../../records/index.ts';
import { runTopics } from '../../run/topics.ts';
import { type Block, type BlockRoom, blockRoom, consumingBlocks } from './consuming-blocks.fixture.ts';
import { pythonWithKafka } from './consuming-python.fixture.ts';
import { ABORTED, COMMITTED, GROUP, ISOLATION, PAGES, REQUESTS, JOBS, finishJob, transactions } from './consuming-records.fixture.ts';
import { writeTransactions } from './write-transactions.fixture.ts';

const whyNoBroker = await whyNoKafkaBroker();
const { python, why: whyNoPython } = whyNoBroker === undefined ? await pythonWithKafka() : { why: whyNoBroker };
const blocks = await consumingBlocks();
const LANES = 2;

describe.skipIf(whyNoBroker !== undefined)(`docs/consuming.md${reason(whyNoBroker)}`, () => {
  const ran = new Set<Block>();
  let broker: Awaited<ReturnType<typeof startKafkaBroker>>;
  let room: BlockRoom;

  beforeAll(async () => {
    broker = await startKafkaBroker();
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    await log.createTopics(
      runTopics({ topics: { driver: 'sqlite', file: '', group: GROUP, lanes: LANES, prefix: '', names: {} }, pipelines: [] }),
    );
    await finishJob(log);
    await writeTransactions(broker.brokers, transactions());
    room = await blockRoom({ broker: broker.brokers[0] ?? '', jars: broker.jars, python });
  });
  afterAll(async () => {
    await room?.[Symbol.asyncDispose]();
    await broker?.close();
  });

  describe.each(ISOLATION)('$name', ({ name, setting, opposite, untold }) => {
    const all = [...COMMITTED, ...ABORTED];
    it.skipIf(lacks(name)).each([
      { what: 'every committed id exactly and no other', instead: setting, expected: COMMITTED },
      { what: 'aborted ids too when told so', instead: opposite, expected: all },
      { what: `${untold} when told nothing`, instead: '', expected: untold === 'all' ? all : COMMITTED },
    ])(`${name}: reads $what${note(name)}`, async ({ instead, expected }) => {
      const text = code(name);
      expect(text).toContain(setting);
      // Uses a new group, so that the block reads from the start.
      const told = text.replace(setting, instead).replace('my-', `${randomUUID()}-`);
      const { lines, stderr } = await run(name, { code: told, lines: expected.length });
      expect({ ids: idsOf(lines), stderr }).toMatchObject({ ids: expected.toSorted() });
    });
  });

  it('console-offset: reads from an offset', async () => {
    const { lines } = await run('console-offset', { lines: 2 });
    const value = `{"user":"@alpha","crawl":"${REQUESTS}-0-0","page":2,"id":`;
    expect(lines).toEqual(PAGES[1].map((id, index) => `Partition:0\tOffset:${6 + index}\t${value}"${id}"}`));
  });

  it.skipIf(lacks('python-offset'))(`python-offset: reads from an offset${note('python-offset')}`, async () => {
    const value = `{"user":"@alpha","crawl":"${REQUESTS}-0-0","page":2,"id":`;
    const { lines } = await succeed('python-offset');
    expect(lines).toEqual(PAGES[1].map((id, index) => `0 ${6 + index} ${value}"${id}"}`));
  });

  it.skipIf(lacks('repeats'))(`repeats: keeps only committed pages${note('repeats')}`, async () => {
    const { lines } = await succeed('repeats');
    expect(lines.map((line) => recordSchemas['followers.pages'].parse(JSON.parse(line)).ids)).toEqual(PAGES);
  });

  describe.each(Object.entries(JOBS))('%s', (name, jobs) => {
    it.skipIf(lacks(name))(`${name}: enqueues jobs byte for byte, each in the lane of its key${note(name)}`, async () => {
      const before = (await requests()).map(placeOf);
      await succeed(name);
      const news = (await requests()).filter((record) => !before.includes(placeOf(record)));
      const arrived = news.map(({ partition, key, value }) => [partition, key, value]);
      const asked = jobs.map(([key, value]) => [partitionForKey(key, LANES), key, value]);
      expect(arrived.map(String).toSorted()).toEqual(asked.map(String).toSorted());
      for (const { value } of news) expect(() => followersRequest.parse(JSON.parse(value ?? 'null'))).not.toThrow();
    });
  });

  it('lag: shows the waiting jobs, and the marker of a transaction', async () => {
    const { lines } = await succeed('lag');
    const waiting = (await requests()).filter(({ partition, offset }) => partition === 0 && offset > 0).length;
    const row = lines
      .find((line) => line.startsWith(GROUP))
      ?.split(/\s+/)
      .slice(0, 6);
    expect(row).toEqual([GROUP, REQUESTS, '0', '1', String(waiting + 2), String(waiting + 1)]);
  });

  describe.each(['exact-js', 'exact-python'])('%s', (name) => {
    it.skipIf(lacks(name))(`${name}: does what its comments promise${note(name)}`, async () => {
      const promised = [...code(name).matchAll(/^(?:print|console\.log)\(.*(?:\/\/|#) (\S+)$/gm)].map(([, text]) => text);
      expect(promised).toContain('9007199254740992');
      expect((await succeed(name)).lines).toEqual(promised);
    });
  });

  it('schema: is the JSON Schema of the ids', async () => {
    const { lines } = await succeed('schema');
    expect(JSON.parse(lines.join('\n'))).toMatchObject({ type: 'object', properties: { id: { type: 'string', pattern: '^\\d{1,20}$' } } });
  });

  it('has run every block that can be run', () => {
    expect([...blocks].filter(([name, block]) => !ran.has(block) && !lacks(name)).map(([name]) => name)).toEqual([]);
  });

  async function run(name: string, { code, lines }: { readonly code?: string; readonly lines?: number } = {}) {
    const block = blockOf(name);
    ran.add(block);
    return await room.run({ ...block, ...(code !== undefined && { code }) }, { ...(lines !== undefined && { lines }) });
  }

  async function succeed(name: string) {
    const end = await run(name);
    if (end.exitCode !== 0) throw new Error(`${name} ended with ${end.exitCode}: ${end.stderr}`);
    return end;
  }

  async function requests() {
    await using log = await kafkaTopicLog({ brokers: broker.brokers });
    return await Array.fromAsync(log.read({ topic: REQUESTS }));
  }
});

function blockOf(name: string): Block {
  const block = blocks.get(name);
  if (block === undefined) throw new Error(`docs/consuming.md has no block ${name}.`);
  return block;
}

function code(name: string): string {
  return blockOf(name).code;
}

function lacks(name: string): boolean {
  return blockOf(name).language === 'python' && whyNoPython !== undefined;
}

function note(name: string): string {
  return lacks(name) ? reason(whyNoPython) : '';
}

function reason(why: string | undefined): string {
  return why === undefined ? '' : `: skipped, ${why}`;
}

function idsOf(lines: readonly string[]): readonly string[] {
  return lines.map((line) => /^(?:.*"id":")?(\d+)(?:"\})?$/.exec(line)?.[1] ?? line).toSorted();
}

function placeOf({ partition, offset }: RecordPosition): string {
  return `${partition}:${offset}`;
}
