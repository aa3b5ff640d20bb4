import assert from 'node:assert/strict';
import { partitionForKey } from '../partition-for-key.ts';
import { InvalidRecordError } from '../topic-errors.ts';
import type { NewRecord, ReadOptions, TopicLog, TopicRecord } from '../topic-log.ts';
import { type DriverCheck, collect, uniqueName, values } from './contract-check.ts';
import { prepareLane } from './lane-checks.ts';

const ALL_BYTES = Uint8Array.from({ length: 256 }, (_, byte) => byte);
/** A value in the frame of a schema registry's serializers, whose bytes aren't UTF-8. */
const FRAMED = Uint8Array.of(0, 0, 0, 0, 1, 0xff, 0x80, 0x41, 0x42);
const BROKEN = Uint8Array.of(0x61, 0xc3);
const TEXT = '\u0000\uFEFFé漢🌊';

function utf8(text: string): Uint8Array {
  return new TextEncoder().encode(text);
}

async function collectBytes(log: TopicLog, options: ReadOptions): Promise<TopicRecord<Uint8Array>[]> {
  await using reader = log.readBytes(options);
  return await Array.fromAsync(reader);
}

/** Returns the fields as arrays of numbers, so that `Buffer`s and other `Uint8Array`s compare equal. */
function plain({ key, value, headers = {} }: Pick<NewRecord, 'key' | 'value' | 'headers'>): unknown {
  const bytes = (field: string | Uint8Array | null): unknown => field && [...(typeof field === 'string' ? utf8(field) : field)];
  return { key: bytes(key), value: bytes(value), headers: Object.entries(headers).map(([name, header]) => [name, bytes(header)]) };
}

export function byteChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'bytes are read back unchanged in key, value and headers, appended or in a transaction; text is read back as UTF-8',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        const headers = { text: TEXT, bytes: FRAMED, none: new Uint8Array() };
        const records: NewRecord[] = [
          { topic, partition: 0, key: FRAMED, value: ALL_BYTES, headers },
          { topic, partition: 0, key: null, value: new Uint8Array() },
          // This key and value are parts of larger arrays.
          { topic, partition: 0, key: ALL_BYTES.subarray(100, 200), value: Buffer.from('abcdef').subarray(1, 4) },
          { topic, partition: 0, key: 'tombstone', value: null, headers: { bytes: BROKEN } },
          { topic, partition: 0, key: TEXT, value: TEXT },
          { topic, partition: 0, key: 'large', value: Uint8Array.from({ length: 700_000 }, (_, index) => (index * 31) & 0xff) },
        ];
        await log.append(records);
        await using writer = await log.openLane(lane);
        const valueAt = (index: number): string | Uint8Array => (index === 1 ? 'text' : FRAMED.subarray(index));
        await writer.transaction((tx) => {
          tx.append(records);
          tx.append([{ topic, partition: 0, key: BROKEN, headers, count: 3, valueAt }]);
          tx.checkpoint('done', 'yes');
        });
        const series = [0, 1, 2].map((index) => ({ key: BROKEN, value: valueAt(index), headers }));
        const expected = [...records, ...records, ...series].map(plain);
        const found = await collectBytes(log, { topic });
        assert.deepEqual(found.map(plain), expected);
        for (const { key, value } of found)
          for (const bytes of [key, value]) assert.ok(bytes === null || bytes.buffer.byteLength === bytes.length);
        assert.equal((await log.readState(lane.state.topic, lane.state.partition)).get('done'), 'yes');
      },
    },
    {
      name: 'a reader of text reads all UTF-8, and ends at other bytes with an error that names topic, partition, offset and fields',
      async run(open) {
        await using log = await open();
        const { topic } = await prepareLane(log);
        const good = { topic, partition: 1, key: TEXT, value: TEXT, headers: { h: TEXT } };
        await log.append([
          { ...good, key: utf8(TEXT), value: utf8(TEXT), headers: { h: utf8(TEXT) } },
          { ...good, value: FRAMED },
          { ...good, key: FRAMED, headers: { good: 'x', a: BROKEN, ['b'.repeat(100)]: BROKEN, c: BROKEN } },
          good,
        ]);
        const long = `header "${'b'.repeat(60)}…"`;
        const wrong = [
          { from: 0, before: [TEXT], offset: 1, fields: ['value'], says: 'its value (9 bytes: 00 00 00 00 01 ff 80 41 …)' },
          { from: 2, before: [], offset: 2, fields: ['key', 'header "a"', long, 'header "c"'], says: '1 more of its headers' },
        ];
        for (const follow of [false, true]) {
          for (const { from, before, offset, fields, says } of wrong) {
            const reader = log.read({ topic, partitions: [1], from, follow })[Symbol.asyncIterator]();
            for (const value of before) {
              const { key, value: text, headers } = (await reader.next()).value ?? {};
              assert.deepEqual([key, text, { ...headers }], [TEXT, value, { h: TEXT }]);
            }
            await assert.rejects(reader.next(), (error) => {
              assert.ok(error instanceof InvalidRecordError);
              assert.deepEqual([error.topic, error.partition, error.offset, error.fields], [topic, 1, offset, fields]);
              assert.ok(error.message.includes(says), error.message);
              return true;
            });
            assert.equal((await reader.next()).done, true);
          }
        }
        assert.deepEqual(values(await collect(log, { topic, from: 3 })), [TEXT]);
      },
    },
    {
      name: 'a reader of bytes follows, and commits for its group like a reader of text',
      async run(open) {
        await using log = await open();
        const { topic } = await prepareLane(log);
        const group = uniqueName('group');
        await log.append([{ topic, partition: 0, key: null, value: FRAMED }]);
        await using reader = log.readBytes({ topic, partitions: [0], group, follow: true });
        const records = reader[Symbol.asyncIterator]();
        const first = (await records.next()).value;
        assert.ok(first !== undefined);
        await reader.commit(first);
        const next = records.next();
        await log.append([{ topic, partition: 0, key: null, value: BROKEN }]);
        assert.deepEqual([...((await next).value?.value ?? [])], [...BROKEN]);
        assert.deepEqual((await collectBytes(log, { topic, partitions: [0], group })).map(plain), [plain({ key: null, value: BROKEN })]);
      },
    },
    {
      name: 'a key of bytes belongs to the partition of its murmur2, like the same key of text, and is the same key in a compacted topic',
      async run(open) {
        await using log = await open();
        const { lane } = await prepareLane(log);
        const { topic } = lane.state;
        const keys = Array.from({ length: 20 }, (_, index) => Uint8Array.of(0xff, index, index * 7));
        const positions = await log.append(keys.map((key) => ({ topic, key, value: 'bytes' })));
        assert.deepEqual(
          positions.map(({ partition }) => partition),
          keys.map((key) => partitionForKey(key, 2)),
        );
        const text = Array.from({ length: 20 }, (_, index) => `@é${index}`);
        const places = await log.append(text.map((key) => ({ topic, key: utf8(key), value: `old ${key}` })));
        for (const [index, key] of text.entries()) {
          assert.equal(places[index]?.partition, partitionForKey(key, 2));
          assert.equal((await log.readState(topic, partitionForKey(key, 2))).get(key), `old ${key}`);
        }
        await log.append(text.map((key, index) => ({ topic, key, value: index % 2 === 0 ? `new ${key}` : null })));
        const states = [await log.readState(topic, 0), await log.readState(topic, 1)];
        for (const [index, key] of text.entries())
          assert.equal(states[partitionForKey(key, 2)]?.get(key), index % 2 === 0 ? `new ${key}` : undefined);
      },
    },
    {
      name: 'the state of a lane is text: bytes are refused when written, and bytes of other writers are refused until their key has text again',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        const place = lane.state;
        {
          await using writer = await log.openLane(lane);
          for (const [field, record] of [
            ['key', { ...place, key: FRAMED, value: 'v' }],
            ['value', { ...place, key: 'k', value: utf8('text') }],
          ] as const) {
            const refused = writer.transaction((tx) => tx.append([{ topic, partition: 0, key: null, value: FRAMED }, record]));
            await assert.rejects(refused, (error) => error instanceof InvalidRecordError && error.fields[0] === field);
          }
          await writer.transaction((tx) => tx.checkpoint('k', 'old'));
        }
        assert.deepEqual(await collectBytes(log, { topic }), []);
        await log.append([
          { ...place, key: 'k', value: FRAMED },
          { ...place, key: FRAMED, value: 'no key of a state' },
        ]);
        const isValue = (error: unknown): boolean =>
          error instanceof InvalidRecordError && error.topic === place.topic && error.partition === 1 && error.fields.join() === 'value';
        await assert.rejects(log.readState(place.topic, place.partition), isValue);
        await assert.rejects(log.openLane(lane), isValue);
        await log.append([{ ...place, key: 'k', value: utf8('new') }]);
        await using writer = await log.openLane(lane);
        assert.deepEqual([...writer.state], [['k', 'new']]);
      },
    },
  ];
}
