import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { TopicUnknownError } from '../topic-errors.ts';
import type { TopicLog } from '../topic-log.ts';
import { type DriverCheck, collect, numbered, uniqueName, values } from './contract-check.ts';

async function newTopic(log: TopicLog, partitions = 1): Promise<string> {
  const name = uniqueName('topic');
  await log.createTopics([{ name, partitions }]);
  return name;
}

const MEGABYTE = 1_048_576;
const READ_MEGABYTES = 48;

/** Returns the number of bytes on the heap after a garbage collection. */
function heapBytes(): number {
  setFlagsFromString('--expose-gc');
  const collectGarbage: unknown = runInNewContext('gc');
  assert.ok(typeof collectGarbage === 'function');
  collectGarbage();
  return process.memoryUsage().heapUsed;
}

export function readChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'a reader gets each partition in order, all of them or the named ones, and stops at the end',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log, 3);
        assert.deepEqual(await collect(log, { topic }), []);
        for (let partition = 0; partition < 3; partition++) await log.append(numbered(topic, 2_500, `${partition}/`, partition));
        const all = await collect(log, { topic });
        assert.equal(all.length, 7_500);
        for (let partition = 0; partition < 3; partition++) {
          const own = all.filter((record) => record.partition === partition);
          assert.deepEqual(
            values(own),
            Array.from({ length: 2_500 }, (_, index) => `${partition}/${index}`),
          );
          assert.ok(own.every((record, index) => index === 0 || record.offset > (own[index - 1]?.offset ?? 0)));
        }
        const some = await collect(log, { topic, partitions: [2, 0] });
        assert.deepEqual(
          [...new Set(some.map((record) => record.partition))].toSorted((a, b) => a - b),
          [0, 2],
        );
        assert.equal(some.length, 5_000);
      },
    },
    {
      name: 'a reader keeps no delivered records in memory, however many it reads',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        // The values are random, so that compression doesn't make them much smaller.
        const value = (): string => randomBytes((MEGABYTE / 2) * 0.75).toString('base64');
        for (let sent = 0; sent < 2 * READ_MEGABYTES; sent += 8) {
          await log.append(Array.from({ length: 8 }, () => ({ topic, partition: 0, key: 'k', value: value() })));
        }
        const before = heapBytes();
        await using reader = log.read({ topic });
        let read = 0;
        for await (const { value: text } of reader) {
          read += text?.length ?? 0;
          if (read < READ_MEGABYTES * MEGABYTE) continue;
          const kept = heapBytes() - before;
          assert.ok(kept < (READ_MEGABYTES * MEGABYTE) / 2, `after ${read} bytes the heap has grown by ${kept}`);
          break;
        }
        assert.ok(read >= READ_MEGABYTES * MEGABYTE);
      },
    },
    {
      name: "a reader that doesn't follow stops at the end as of its start",
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 10));
        let seen = 0;
        for await (const record of log.read({ topic })) {
          assert.equal(record.value, String(seen++));
          if (seen <= 20) await log.append(numbered(topic, 1, 'later'));
        }
        assert.equal(seen, 10);
      },
    },
    {
      name: 'from earliest, from latest, and from an offset',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        const positions = await log.append(numbered(topic, 10));
        assert.equal((await collect(log, { topic, from: 'earliest' })).length, 10);
        assert.deepEqual(await collect(log, { topic, from: 'latest' }), []);
        assert.deepEqual(values(await collect(log, { topic, from: positions[7]?.offset ?? -1 })), ['7', '8', '9']);
        const end = (await log.listTopics()).find((info) => info.name === topic)?.offsets[0]?.end ?? -1;
        assert.deepEqual(await collect(log, { topic, from: end + 100 }), []);
      },
    },
    {
      name: 'from an offset for each partition: a partition without one starts at its beginning, even if it has just been added',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log, 2);
        await log.append([...numbered(topic, 5, 'a', 0), ...numbered(topic, 5, 'b', 1)]);
        const from = (await log.listTopics([topic]))[0]?.offsets.map(({ end }) => end) ?? [];
        assert.deepEqual(await collect(log, { topic, from }), []);
        assert.deepEqual(values(await collect(log, { topic, from: [3] })).toSorted(), ['a3', 'a4', 'b0', 'b1', 'b2', 'b3', 'b4']);
        assert.deepEqual(values(await collect(log, { topic, partitions: [1], from: [0, 4] })), ['b4']);
        await log.createTopics([{ name: topic, partitions: 3 }]);
        await log.append([...numbered(topic, 1, 'later', 0), ...numbered(topic, 2, 'c', 2)]);
        assert.deepEqual(values(await collect(log, { topic, from, follow: true }, 3)).toSorted(), ['c0', 'c1', 'later0']);
      },
    },
    {
      name: 'a reader refuses to start at a negative or broken offset',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 3));
        for (const from of [-1, 0.5, Number.NaN, Infinity, [0, -1]]) await assert.rejects(collect(log, { topic, from }), RangeError);
        await assert.rejects(collect(log, { topic, from: -1 }), { message: "-1 isn't an offset to read from." });
      },
    },
    {
      name: 'each group continues where it committed; without a commit it starts at from',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log, 2);
        const rest = new Set(['a3', 'a4', 'b1', 'b2', 'b3', 'b4']);
        await log.append([...numbered(topic, 5, 'a', 0), ...numbered(topic, 5, 'b', 1)]);
        {
          await using reader = log.read({ topic, group: 'one' });
          for await (const record of reader) {
            if (record.value === 'a2' || record.value === 'b0') await reader.commit(record);
            if (record.value === 'a4') await reader.commit({ topic, partition: 0, offset: record.offset - 3 });
          }
        }
        await using again = await open();
        assert.deepEqual(new Set(values(await collect(again, { topic, group: 'one' }))), rest);
        assert.deepEqual(new Set(values(await collect(again, { topic, group: 'one', from: 'latest' }))), rest);
        assert.equal((await collect(again, { topic, group: 'two' })).length, 10);
        assert.deepEqual(await collect(again, { topic, group: 'three', from: 'latest' }), []);
      },
    },
    {
      name: 'the furthest of concurrent commits stays, whichever came first',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        const group = uniqueName('group');
        const positions = await log.append(numbered(topic, 10));
        await using reader = log.read({ topic, group });
        for (const indices of [[0], [8, 3, 5]])
          await Promise.all(indices.map((index) => reader.commit(positions[index] ?? { topic, partition: 0, offset: -1 })));
        assert.equal(await log.groupOffset({ group, topic, partition: 0 }), (positions[8]?.offset ?? -1) + 1);
      },
    },
    {
      name: 'a reader that has ended still commits what it has delivered',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 1));
        for (const follow of [false, true]) {
          for (const isAborted of [false, true]) {
            const group = uniqueName('group');
            const abort = new AbortController();
            const reader = log.read({ topic, group, follow, signal: abort.signal });
            for await (const record of reader) {
              if (isAborted) abort.abort();
              else await reader.close();
              await reader.commit(record);
              assert.equal(await log.groupOffset({ group, ...record }), record.offset + 1);
            }
          }
        }
      },
    },
    {
      name: "a reader without a group can't commit",
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        const [position] = await log.append(numbered(topic, 1));
        await using reader = log.read({ topic });
        assert.ok(position !== undefined);
        await assert.rejects(reader.commit(position));
      },
    },
    {
      name: 'a following reader sees what is committed later, by this log and by another, in order',
      async run(open) {
        await using log = await open();
        await using other = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 2, 'before'));
        const reading = collect(log, { topic, follow: true }, 8);
        const latest = collect(log, { topic, follow: true, from: 'latest' }, 6);
        await log.append(numbered(topic, 3, 'own'));
        await other.append(numbered(topic, 3, 'other'));
        const expected = ['own0', 'own1', 'own2', 'other0', 'other1', 'other2'];
        assert.deepEqual(values(await reading), ['before0', 'before1', ...expected]);
        assert.deepEqual(values(await latest), expected);
        await using waiting = other.read({ topic, follow: true, from: 'latest' });
        let isWoken = false;
        const next = waiting[Symbol.asyncIterator]()
          .next()
          .finally(() => (isWoken = true));
        // The reader may find out where it starts only after some of these appends, so append until it gets one.
        while (!isWoken) await log.append(numbered(topic, 1, 'woken'));
        assert.equal((await next).value?.value, 'woken0');
      },
    },
    {
      name: "a following reader takes turns: the backlog of some partitions doesn't delay new records of another",
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log, 3);
        // A value of about 600,000 bytes that compresses badly, so that the backlog takes many fetches.
        const value = Buffer.from(crypto.getRandomValues(new Uint8Array(65_536)))
          .toString('base64')
          .repeat(7);
        const batch = [0, 0, 1, 1].map((partition) => ({ topic, partition, key: 'k', value }));
        const rounds = 6;
        for (let round = 0; round < rounds; round++) await log.append(batch);
        let seen = 0;
        for await (const { partition } of log.read({ topic, follow: true })) {
          if (partition === 2) break;
          if (seen === 0) await log.append(numbered(topic, 1, 'other', 2));
          seen++;
          assert.ok(seen < rounds * batch.length, 'Partition 2 was not read before the end of the others.');
        }
      },
    },
    {
      name: "a following reader of all partitions reads later ones from their start; a reader of some doesn't",
      async run(open) {
        await using log = await open();
        await using other = await open();
        const topic = await newTopic(log);
        const signal = AbortSignal.timeout(20_000);
        const all = collect(log, { topic, follow: true, from: 'latest', signal }, 5);
        const first = collect(log, { topic, follow: true, partitions: [0], signal }, 2);
        await log.append(numbered(topic, 1, 'first', 0));
        await other.createTopics([{ name: topic, partitions: 3 }]);
        await other.append([...numbered(topic, 2, 'third', 2), ...numbered(topic, 1, 'second', 1), ...numbered(topic, 1, 'last', 0)]);
        const found = await all;
        const of = (partition: number) => values(found.filter((record) => record.partition === partition));
        assert.deepEqual([of(0), of(1), of(2)], [['first0', 'last0'], ['second0'], ['third0', 'third1']]);
        assert.deepEqual(values(await first), ['first0', 'last0']);
      },
    },
    {
      name: 'several readers at once each get everything, at their own pace',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 2_000));
        await using slow = log.read({ topic });
        const iterator = slow[Symbol.asyncIterator]();
        await iterator.next();
        const whole = await Promise.all([collect(log, { topic }), collect(log, { topic, follow: true }, 2_000), collect(log, { topic })]);
        for (const records of whole) assert.equal(records.length, 2_000);
        let last: string | null | undefined;
        let rest = 0;
        for (let step = await iterator.next(); step.done !== true; step = await iterator.next()) {
          last = step.value.value;
          rest++;
        }
        assert.equal(rest, 1_999);
        assert.equal(last, '1999');
      },
    },
    {
      name: 'a waiting reader ends when its signal aborts, when it is closed, when its loop is left, and with the log',
      async run(open) {
        const log = await open();
        const topic = await newTopic(log);
        await log.append(numbered(topic, 1));
        const abort = new AbortController();
        const aborted = collect(log, { topic, follow: true, signal: abort.signal });
        const closing = log.read({ topic, follow: true });
        const iterator = closing[Symbol.asyncIterator]();
        await iterator.next();
        const waiting = iterator.next();
        const left = log.read({ topic, follow: true })[Symbol.asyncIterator]();
        await left.next();
        const leaving = left.next();
        const withLog = collect(log, { topic, follow: true });
        abort.abort();
        assert.equal((await aborted).length <= 1, true);
        await closing.close();
        assert.equal((await waiting).done, true);
        assert.equal((await left.return?.())?.done, true);
        assert.equal((await leaving).done, true);
        assert.deepEqual(await collect(log, { topic, follow: true, signal: AbortSignal.abort() }), []);
        await log.close();
        assert.ok((await withLog).length <= 1);
      },
    },
    {
      name: 'reading a missing topic or partition is an error',
      async run(open) {
        await using log = await open();
        const topic = await newTopic(log);
        await assert.rejects(collect(log, { topic: uniqueName('missing') }), TopicUnknownError);
        const reads = [3, -1, 0.5, Number.NaN].map((partition) =>
          assert.rejects(collect(log, { topic, partitions: [partition] }), TopicUnknownError),
        );
        await Promise.all(reads);
        await assert.rejects(log.readState(uniqueName('missing'), 0), TopicUnknownError);
      },
    },
  ];
}
