import assert from 'node:assert/strict';
import { partitionForKey } from '../partition-for-key.ts';
import { TopicMismatchError, TopicUnknownError } from '../topic-errors.ts';
import { type DriverCheck, collect, numbered, uniqueName, values } from './contract-check.ts';

export function recordChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'createTopics creates missing topics, adds partitions, and may be called again',
      async run(open) {
        await using log = await open();
        const [plain, state] = [uniqueName('plain'), uniqueName('state')];
        await log.createTopics([{ name: plain, partitions: 1 }]);
        const wanted = [
          { name: plain, partitions: 3 },
          { name: state, partitions: 2, compacted: true },
        ];
        const { created, grown } = await log.createTopics(wanted);
        assert.deepEqual([created, grown], [[state], [{ topic: plain, from: 1, to: 3 }]]);
        const again = await log.createTopics(wanted);
        assert.deepEqual([again.created, again.grown], [[], []]);
        const topics = await log.listTopics();
        const names = topics.map((topic) => topic.name);
        assert.deepEqual(
          names,
          names.toSorted((a, b) => (a < b ? -1 : 1)),
        );
        const found = topics.filter((topic) => topic.name === plain || topic.name === state);
        assert.deepEqual(await log.listTopics([state, uniqueName('missing'), plain]), found);
        assert.deepEqual(
          found.map(({ name, partitions, compacted }) => [name, partitions, compacted]),
          [
            [plain, 3, false],
            [state, 2, true],
          ],
        );
        assert.deepEqual(
          found[0]?.offsets,
          Array.from({ length: 3 }, () => ({ earliest: 0, end: 0 })),
        );
      },
    },
    {
      name: 'createTopics refuses to shrink a topic or to change its compaction, and then creates nothing',
      async run(open) {
        await using log = await open();
        const [name, other] = [uniqueName('topic'), uniqueName('other')];
        await log.createTopics([{ name, partitions: 2 }]);
        const created = { name: other, partitions: 1 };
        await assert.rejects(log.createTopics([created, { name, partitions: 1 }]), TopicMismatchError);
        await assert.rejects(log.createTopics([created, { name, partitions: 2, compacted: true }]), TopicMismatchError);
        assert.equal(
          (await log.listTopics()).find((topic) => topic.name === other),
          undefined,
        );
      },
    },
    {
      name: 'createTopics with validateOnly reports what is missing, throws the same errors, and creates nothing',
      async run(open) {
        await using log = await open();
        const [name, other] = [uniqueName('topic'), uniqueName('other')];
        await log.createTopics([{ name, partitions: 2 }]);
        const wanted = [
          { name, partitions: 3 },
          { name: other, partitions: 1 },
        ];
        const { created, grown } = await log.createTopics(wanted, { validateOnly: true });
        assert.deepEqual([created, grown], [[other], [{ topic: name, from: 2, to: 3 }]]);
        const tooSmall = log.createTopics([{ name, partitions: 1 }], { validateOnly: true });
        await assert.rejects(
          tooSmall,
          (error) => error instanceof TopicMismatchError && error.topic === name && error.mismatches[0]?.partitions === 2,
        );
        const there = (await log.listTopics()).filter((topic) => topic.name === name || topic.name === other);
        assert.deepEqual(
          there.map((topic) => [topic.name, topic.partitions]),
          [[name, 2]],
        );
        assert.deepEqual((await log.createTopics(wanted)).created, [other]);
      },
    },
    {
      name: 'offsets are those of each partition, in the order in which they were requested',
      async run(open) {
        await using log = await open();
        const [topic, other] = [uniqueName('topic'), uniqueName('other')];
        await log.createTopics([
          { name: topic, partitions: 3 },
          { name: other, partitions: 1 },
        ]);
        const records = [2, 2, 1].map((partition) => ({ topic, partition, key: null, value: 'v' }));
        await log.append([...records, { topic: other, key: null, value: 'v' }]);
        const ends = new Map((await log.listTopics([topic, other])).map(({ name, offsets }) => [name, offsets.map(({ end }) => end)]));
        const places = [
          { topic, partition: 2 },
          { topic: other, partition: 0 },
          { topic, partition: 0 },
        ];
        const expected = places.map((place) => ends.get(place.topic)?.[place.partition]);
        assert.deepEqual([(expected[0] ?? 0) >= 2, (expected[1] ?? 0) >= 1, expected[2]], [true, true, 0]);
        assert.deepEqual(await log.offsets(places, 'earliest'), [0, 0, 0]);
        for (const which of ['end', 'written'] as const) assert.deepEqual(await log.offsets(places, which), expected);
        assert.deepEqual(await log.offsets([], 'end'), []);
        for (const place of [
          { topic, partition: 3 },
          { topic: uniqueName('missing'), partition: 0 },
        ])
          await assert.rejects(log.offsets([...places, place], 'end'), TopicUnknownError);
      },
    },
    {
      name: 'offsetSince finds the first record of a time or later, in each partition, and nothing after the last one',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 2 }]);
        for (const value of ['a', 'b']) await log.append([{ topic, partition: 1, key: null, value }]);
        const [first, second] = await collect(log, { topic, partitions: [1] });
        assert.ok(first !== undefined && second !== undefined);
        const since = async (partition: number, ms: number): Promise<number | undefined> => await log.offsetSince({ topic, partition }, ms);
        assert.equal(await since(1, 0), first.offset);
        assert.equal(await since(1, second.timestampMs), second.timestampMs === first.timestampMs ? first.offset : second.offset);
        assert.equal(await since(0, 0), undefined);
        // The end of the last transaction can have an offset of its own.
        const past = await since(1, second.timestampMs + 60_000);
        assert.equal(past, undefined);
      },
    },
    {
      name: 'a record is read back byte for byte, with its headers and the time of its append',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 1 }]);
        const records = [
          {
            topic,
            partition: 0,
            key: '@ålpha 🌊',
            value: '{"id":"9007199254740993","s":"\\u0000\u0000é漢字🌊"}',
            headers: { ce_id: 'a/1', 'x-é': '🌊' },
          },
          { topic, partition: 0, key: '', value: '', headers: {} },
          { topic, partition: 0, key: null, value: 'no key' },
          { topic, partition: 0, key: 'tombstone', value: null },
        ];
        const before = Date.now();
        await log.append(records);
        const found = await collect(log, { topic });
        assert.deepEqual(
          found.map(({ key, value, headers }) => ({ key, value, headers: { ...headers } })),
          records.map(({ key, value, headers }) => ({ key, value, headers: headers ?? {} })),
        );
        for (const record of found) assert.ok(Math.abs(record.timestampMs - before) < 60_000, `stamped ${record.timestampMs} at ${before}`);
      },
    },
    {
      name: 'a record of the maximum size is accepted and no larger one, as the setting that limits it says',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 1 }]);
        const { bytes, setting } = await log.recordLimit(topic);
        if (setting !== undefined) {
          assert.ok(setting.neededFor(bytes) <= setting.value);
          assert.ok(setting.neededFor(bytes + 1) > setting.value);
        }
        // If the limit is more than 10 MB, the check doesn't write a record of the maximum size.
        const length = Math.min(bytes, 10_000_000) - 1;
        await log.append([{ topic, key: 'k', value: 'x'.repeat(length) }]);
        assert.equal((await collect(log, { topic }))[0]?.value?.length, length);
      },
    },
    {
      name: 'values of a megabyte are read back unchanged',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 1 }]);
        const big = Array.from({ length: 4 }, (_, index) => `${index}é`.repeat(350_000));
        for (const value of big) await log.append([{ topic, partition: 0, key: 'k', value }]);
        const found = values(await collect(log, { topic }));
        assert.equal(found.length, big.length);
        for (const [index, value] of big.entries())
          assert.ok(found[index] === value, `value ${index} of ${value.length} characters differs`);
      },
    },
    {
      name: 'append returns the place of each record, and records of a key keep their order in its partition',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 4 }]);
        const records = Array.from({ length: 200 }, (_, index) => ({ topic, key: `@user${index % 13}`, value: String(index) }));
        const positions = [...(await log.append(records.slice(0, 120))), ...(await log.append(records.slice(120)))];
        assert.equal(positions.length, records.length);
        const found = await collect(log, { topic });
        assert.equal(found.length, records.length);
        for (const [index, { key, value }] of records.entries()) {
          const position = positions[index];
          assert.equal(position?.partition, partitionForKey(key, 4));
          assert.deepEqual(
            found
              .filter((record) => record.partition === position.partition && record.offset === position.offset)
              .map((record) => [record.key, record.value]),
            [[key, value]],
          );
        }
        for (let user = 0; user < 13; user++) {
          const order = found.filter((record) => record.key === `@user${user}`).map((record) => Number(record.value));
          assert.deepEqual(
            order,
            order.toSorted((a, b) => a - b),
          );
        }
      },
    },
    {
      name: 'records of one append keep their order in a partition, even if only some of them name it',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 2 }]);
        const records = Array.from({ length: 12 }, (_, index) => {
          const key = `@user${index % 5}`;
          const record = { topic, key, value: String(index) };
          return index % 3 === 0 ? record : { ...record, partition: partitionForKey(key, 2) };
        });
        const positions = await log.append(records);
        const found = await collect(log, { topic });
        for (const partition of [0, 1]) {
          const expected = records.filter(({ key }) => partitionForKey(key, 2) === partition);
          const own = found.filter((record) => record.partition === partition);
          assert.deepEqual(values(own), values(expected));
          assert.deepEqual(
            own.map(({ offset }) => offset),
            positions.filter((position) => position.partition === partition).map(({ offset }) => offset),
          );
        }
      },
    },
    {
      name: 'append is atomic: with one record for a missing partition, none is written',
      async run(open) {
        await using log = await open();
        const topic = uniqueName('topic');
        await log.createTopics([{ name: topic, partitions: 1 }]);
        const appends = [5, -1, 0.5, Number.NaN].map((partition) =>
          assert.rejects(log.append([...numbered(topic, 3), { topic, partition, key: 'k', value: 'x' }]), TopicUnknownError),
        );
        await Promise.all(appends);
        await assert.rejects(
          log.append([...numbered(topic, 3), { topic: uniqueName('missing'), key: 'k', value: 'x' }]),
          TopicUnknownError,
        );
        await log.append(numbered(topic, 1, 'after'));
        assert.deepEqual(values(await collect(log, { topic })), ['after0']);
      },
    },
  ];
}
