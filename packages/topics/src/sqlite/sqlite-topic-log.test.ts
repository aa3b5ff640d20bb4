import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidRecordError } from '../topic-errors.ts';
import type { NewRecord, TopicLog, TopicRecord } from '../topic-log.ts';
import { sqliteTopicLog } from './index.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

async function collect(log: TopicLog, topic: string): Promise<TopicRecord[]> {
  const found: TopicRecord[] = [];
  for await (const record of log.read({ topic })) found.push(record);
  return found;
}

describe('the sqlite driver', () => {
  it('assigns offsets without gaps, and puts a record without key or partition into partition 0', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db'), now: () => 1_700_000_000_123.9 });
    await log.createTopics([{ name: 'topic', partitions: 3 }]);
    await log.append(Array.from({ length: 120 }, (_, index) => ({ topic: 'topic', key: `@u${index}`, value: String(index) })));
    await expect(
      log.append([
        { topic: 'topic', key: null, value: 'x' },
        { topic: 'topic', partition: 3, key: null, value: 'x' },
      ]),
    ).rejects.toThrow('no partition 3');
    expect(await log.append([{ topic: 'topic', key: null, value: 'last' }])).toMatchObject([{ partition: 0 }]);
    const found = await collect(log, 'topic');
    expect(found).toHaveLength(121);
    for (let partition = 0; partition < 3; partition++) {
      const offsets = found.filter((record) => record.partition === partition).map((record) => record.offset);
      expect(offsets.length).toBeGreaterThan(20);
      expect(offsets).toEqual(offsets.map((_, index) => index));
    }
    expect(found[0]?.timestampMs).toBe(1_700_000_000_123);
  });

  it('wakes a waiting reader at each write of its own, and at a new topic, without a look at the file', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db'), pollMs: 2 ** 31 - 1 });
    const pages = { name: 'pages', partitions: 1 };
    await log.createTopics([pages, { name: 'state', partitions: 1, compacted: true }]);
    await using lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
    const reading = log.read({ topic: 'pages', follow: true });
    const records = reading[Symbol.asyncIterator]();
    const nextAfter = async (write: () => Promise<unknown>): Promise<unknown> => {
      const next = records.next();
      // The reader has found nothing when the list is there.
      for (let call = 0; call < 3; call++) await log.listTopics();
      await write();
      const { value } = await next;
      return [value?.partition, value?.value];
    };
    const record = { topic: 'pages', partition: 0, key: null };
    expect(await nextAfter(() => lane.transaction((tx) => tx.append([{ ...record, value: 'lane' }])))).toEqual([0, 'lane']);
    expect(await nextAfter(() => log.append([{ ...record, value: 'log' }]))).toEqual([0, 'log']);
    const grown = async (): Promise<unknown> => {
      await log.createTopics([{ ...pages, partitions: 2 }]);
      return await log.append([{ ...record, partition: 1, value: 'grown' }]);
    };
    expect(await nextAfter(grown)).toEqual([1, 'grown']);
    await reading.close();
  });

  it('keeps one record per key of a compacted topic, and a tombstone for the configured time', async () => {
    let nowMs = 1_000_000;
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db'), now: () => nowMs, tombstoneRetentionMs: 60_000 });
    await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
    const set = (key: string, value: string | null): Promise<unknown> => log.append([{ topic: 'state', partition: 0, key, value }]);
    for (let round = 0; round < 5; round++) for (const key of ['a', 'b', 'c']) await set(key, `${key}${round}`);
    await set('b', null);
    const shown = async (): Promise<unknown> => (await collect(log, 'state')).map(({ key, value, offset }) => [key, value, offset]);
    expect(await shown()).toEqual([
      ['a', 'a4', 12],
      ['c', 'c4', 14],
      ['b', null, 15],
    ]);
    nowMs += 60_001;
    await set('c', null);
    expect(await shown()).toEqual([
      ['a', 'a4', 12],
      ['c', null, 16],
    ]);
    expect((await log.listTopics())[0]?.offsets).toEqual([{ earliest: 12, end: 17 }]);
    expect([...(await log.readState('state', 0))]).toEqual([['a', 'a4']]);
    await expect(log.append([{ topic: 'state', partition: 0, key: null, value: 'x' }])).rejects.toThrow(InvalidRecordError);
  });

  it('waits for another writing process without blocking timers, and throws if that takes too long', async () => {
    const file = join(temporaryFolder(), 'log.db');
    await using log = await sqliteTopicLog({ file, busyTimeoutMs: 300 });
    await log.createTopics([{ name: 'topic', partitions: 1 }]);
    const other = new DatabaseSync(file);
    other.exec('BEGIN IMMEDIATE');
    let ticks = 0;
    const timer = setInterval(() => ticks++, 5);
    await expect(log.append([{ topic: 'topic', key: 'k', value: 'refused' }])).rejects.toThrow(
      expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_BUSY' }),
    );
    clearInterval(timer);
    // If the wait blocked this thread, the timer would fire at most once.
    expect(ticks).toBeGreaterThan(2);
    other.exec('ROLLBACK');
    other.close();
    await log.append([{ topic: 'topic', key: 'k', value: 'written' }]);
    expect((await collect(log, 'topic')).map((record) => record.value)).toEqual(['written']);
  });

  it('shows a following reader the partitions added to a topic', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db') });
    await log.createTopics([{ name: 'topic', partitions: 1 }]);
    const iterator = log.read({ topic: 'topic', follow: true, from: 'latest' })[Symbol.asyncIterator]();
    const next = iterator.next();
    await log.createTopics([{ name: 'topic', partitions: 2 }]);
    await log.append([{ topic: 'topic', partition: 1, key: 'k', value: 'grown' }]);
    expect((await next).value).toMatchObject({ partition: 1, value: 'grown' });
  });

  it('frees a lane whose opening is aborted', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db') });
    await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
    const lane = { name: 'lane', state: { topic: 'state', partition: 0 } };
    const stop = new AbortController();
    const opening = log.openLane(lane, stop.signal);
    stop.abort(new Error('stopped'));
    await expect(opening).rejects.toThrow('stopped');
    await (await log.openLane(lane)).close();
  });

  it.each(['', '.', '..', 'a b', 'a'.repeat(250)])('refuses a topic that Kafka would not accept: %j', async (name) => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db') });
    await expect(log.createTopics([{ name, partitions: 1 }])).rejects.toThrow("isn't a topic name");
  });

  it('closes with waiting readers and open lanes, and later calls throw', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const log = await sqliteTopicLog({ file });
    await log.createTopics([
      { name: 'topic', partitions: 1 },
      { name: 'state', partitions: 1, compacted: true },
    ]);
    const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
    const iterator = log.read({ topic: 'topic', follow: true })[Symbol.asyncIterator]();
    const waiting = iterator.next();
    await log.close();
    expect(await waiting).toEqual({ done: true, value: undefined });
    await expect(lane.transaction(() => {})).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_CLOSED' }));
    await expect(log.listTopics()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_CLOSED' }));
    expect(() => log.read({ topic: 'topic' })).toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_CLOSED' }));
  });

  it('keeps bytes as a BLOB of its file, and a key or a header that is text as TEXT', async () => {
    const file = join(temporaryFolder(), 'log.db');
    const bytes = Uint8Array.of(0, 0xff);
    {
      await using log = await sqliteTopicLog({ file });
      await log.createTopics([{ name: 'topic', partitions: 1 }]);
      const headers = { text: 'x', bytes };
      await log.append([
        { topic: 'topic', key: bytes, value: bytes, headers },
        { topic: 'topic', key: Buffer.from('k'), value: Buffer.from('v') },
      ]);
    }
    using db = new DatabaseSync(file);
    expect(db.prepare('SELECT hex(key) AS key, typeof(key) AS of, typeof(value) AS value, headers FROM records').all()).toEqual([
      { key: '00FF', of: 'blob', value: 'blob', headers: '{"text":"x","bytes":{"base64":"AP8="}}' },
      { key: '6B', of: 'text', value: 'blob', headers: null },
    ]);
  });

  it('returns exactly the appended records, whatever their content', async () => {
    await using log = await sqliteTopicLog({ file: join(temporaryFolder(), 'log.db') });
    const text = fc.string({ unit: 'binary' });
    const field = fc.oneof(text, fc.uint8Array());
    const record = fc.record({
      partition: fc.integer({ min: 0, max: 2 }),
      key: fc.option(field),
      value: fc.option(field),
      headers: fc.dictionary(text, field, { maxKeys: 3, noNullPrototype: true }),
    });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(fc.array(record, { maxLength: 120 }), { maxLength: 4 }), async (transactions) => {
        const topic = `topic-${run++}`;
        await log.createTopics([{ name: topic, partitions: 3 }]);
        for (const records of transactions) await log.append(records.map((each) => ({ topic, ...each })));
        const found = await Array.fromAsync(log.readBytes({ topic }));
        for (let partition = 0; partition < 3; partition++) {
          const expected = transactions.flat().filter((each) => each.partition === partition);
          const own = found.filter((each) => each.partition === partition);
          expect(own.map(fieldsAsBytes)).toEqual(expected.map(fieldsAsBytes));
        }
      }),
      { numRuns: 25 },
    );
  });
});

function fieldsAsBytes({ key, value, headers = {} }: Pick<NewRecord, 'key' | 'value' | 'headers'>): unknown {
  const hex = (field: string | Uint8Array | null): string | null =>
    field === null ? null : (typeof field === 'string' ? Buffer.from(field) : Buffer.from(field)).toString('hex');
  return [hex(key), hex(value), Object.entries(headers).map(([name, header]) => [name, hex(header)])];
}
