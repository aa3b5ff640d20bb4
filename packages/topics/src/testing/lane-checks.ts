import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { partitionForKey } from '../partition-for-key.ts';
import { LaneHeldError } from '../lane-errors.ts';
import { InvalidRecordError, TopicUnknownError } from '../topic-errors.ts';
import type { LaneSpec, NewRecord, TopicLog } from '../topic-log.ts';
import { type DriverCheck, collect, numbered, uniqueName, values } from './contract-check.ts';

/** Creates the topics of a lane: one for records, and a compacted one for its state. */
export async function prepareLane(log: TopicLog): Promise<{ readonly topic: string; readonly lane: LaneSpec }> {
  const [topic, state] = [uniqueName('topic'), uniqueName('state')];
  await log.createTopics([
    { name: topic, partitions: 2 },
    { name: state, partitions: 2, compacted: true },
  ]);
  return { topic, lane: { name: uniqueName('lane'), state: { topic: state, partition: 1 } } };
}

/** Long enough to show on every driver's clock, whatever its resolution. */
const AGE_MS = 50;

/** Returns a key that belongs to this partition if a topic has two. */
function keyOf(partition: number): string {
  return Array.from({ length: 100 }, (_, index) => `k${index}`).find((key) => partitionForKey(key, 2) === partition) ?? '';
}

export function laneChecks(): readonly DriverCheck[] {
  return [
    {
      name: 'a transaction writes records, state and group offsets together',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        assert.equal(writer.state.size, 0);
        await log.append(numbered(topic, 3, 'request', 1));
        await writer.transaction((tx) => {
          tx.append(numbered(topic, 2, 'page'));
          tx.checkpoint('crawl/1', '{"page":1}');
          tx.commitOffset({ group: 'g', topic, partition: 1, nextOffset: 2 });
        });
        assert.deepEqual([...writer.state], [['crawl/1', '{"page":1}']]);
        assert.deepEqual([...(await log.readState(lane.state.topic, 1))], [['crawl/1', '{"page":1}']]);
        assert.deepEqual(values(await collect(log, { topic, partitions: [0] })), ['page0', 'page1']);
        assert.deepEqual(values(await collect(log, { topic, partitions: [1], group: 'g' })), ['request2']);
      },
    },
    {
      name: "with onlyIfFree, a held lane isn't opened, and its holder continues",
      async run(open) {
        await using first = await open();
        await using second = await open();
        const { topic, lane } = await prepareLane(first);
        const group = {
          group: uniqueName('group'),
          topics: [topic],
          agreement: '',
          onUncertain: () => undefined,
          onFailed: () => undefined,
        };
        const member = await first.joinGroup({ ...group, onAssigned: () => undefined });
        const writer = await first.openLane(lane);
        await assert.rejects(second.openLane({ ...lane, onlyIfFree: true }), (error) => {
          assert.ok(error instanceof LaneHeldError);
          assert.equal(error.pid, process.pid);
          return true;
        });
        await writer.transaction((tx) => tx.checkpoint('k', 'on'));
        await writer.close();
        await member.leave();
        await using taken = await second.openLane({ ...lane, onlyIfFree: true });
        assert.equal(taken.state.get('k'), 'on');
      },
    },
    {
      name: "a group's offset in a partition is undefined first, then that of a transaction",
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        const group = uniqueName('group');
        assert.equal(await log.groupOffset({ group, topic, partition: 1 }), undefined);
        assert.equal(await log.groupOffset({ group, topic: uniqueName('missing'), partition: 0 }), undefined);
        await writer.transaction((tx) => tx.commitOffset({ group, topic, partition: 1, nextOffset: 2 }));
        assert.equal(await log.groupOffset({ group, topic, partition: 1 }), 2);
        assert.equal(await log.groupOffset({ group, topic, partition: 0 }), undefined);
        await writer.close();
        await using other = await open();
        assert.equal(await other.groupOffset({ group, topic, partition: 1 }), 2);
      },
    },
    {
      name: 'each record of a series is written, in order, between its neighbors',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        const one = { topic, partition: 1, key: 'k', headers: { h: 'x' } };
        const series = { ...one, count: 3, valueAt: (index: number) => `s${index}` };
        await writer.transaction((tx) => {
          tx.append([{ ...one, value: 'before' }, series, { ...one, value: 'after' }, { ...series, count: 0 }]);
        });
        const records = await collect(log, { topic, partitions: [1] });
        assert.deepEqual(values(records), ['before', 's0', 's1', 's2', 'after']);
        for (const { key, headers } of records) assert.deepEqual([key, headers], ['k', { h: 'x' }]);
        const asState = writer.transaction((tx) => tx.append([{ ...lane.state, key: 'k', count: 1, valueAt: () => 'x' }]));
        await assert.rejects(asState, TypeError);
      },
    },
    {
      name: 'a series in parts has each of its values written completely',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        // Some parts begin or end with half of a character, which only the whole value completes.
        const own = ['1', '', '22', '\ud83c', '\ud83c\udf0a', 'é'.repeat(40), '3'.repeat(40)];
        const ends = [
          { before: '{"é":"', after: '"}' },
          { before: '', after: '' },
          { before: '<', after: '\udf0a>' },
        ];
        const all = ends.map(({ before, after }) => own.map((part) => before + part + after));
        await writer.transaction((tx) => {
          for (const [i, { before, after }] of ends.entries()) {
            const parts = { before, partAt: (index: number) => own[index] ?? '', after };
            tx.append([{ topic, partition: 1, key: 'k', count: own.length, valueAt: (index) => all[i]?.[index] ?? '', parts }]);
          }
        });
        const expected = all.flat().map((value) => value.toWellFormed());
        assert.deepEqual(values(await collect(log, { topic, partitions: [1] })), expected);
      },
    },
    {
      name: 'a transaction that fails writes nothing, neither records nor state nor offsets, and the lane continues',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        await log.append(numbered(topic, 2, 'request', 1));
        await writer.transaction((tx) => tx.checkpoint('k', 'old'));
        const broken = new Error('the work broke');
        const failing = writer.transaction((tx) => {
          tx.append(numbered(topic, 2, 'lost'));
          tx.checkpoint('k', 'lost');
          throw broken;
        });
        await assert.rejects(failing, (error) => error === broken);
        const refused = writer.transaction((tx) => {
          tx.append(numbered(topic, 2, 'lost'));
          tx.checkpoint('k', 'lost');
          tx.commitOffset({ group: 'g', topic, partition: 1, nextOffset: 1 });
          tx.append(numbered(topic, 1, 'lost', 9));
        });
        await assert.rejects(refused, TopicUnknownError);
        assert.equal(writer.state.get('k'), 'old');
        assert.equal((await log.readState(lane.state.topic, 1)).get('k'), 'old');
        assert.equal((await collect(log, { topic, partitions: [1], group: 'g' })).length, 2);
        await writer.transaction((tx) => tx.append(numbered(topic, 1, 'kept')));
        assert.deepEqual(values(await collect(log, { topic, partitions: [0] })), ['kept0']);
      },
    },
    {
      name: 'a record with a field that is neither text nor bytes is refused by topic and field, nothing of it is written, and the lane continues',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        // A caller without types can pass such values.
        const number = 7 as unknown as string;
        const list = [0, 255] as unknown as Uint8Array;
        const good = { topic, partition: 0, key: 'k', value: 'v' };
        const bad: readonly (readonly [field: string, NewRecord])[] = [
          ['key', { ...good, key: number }],
          ['value', { ...good, value: list }],
          ['value', { topic, partition: 0, key: 'k' } as NewRecord],
          ['header "h"', { ...good, headers: { good: 'x', h: number } }],
        ];
        const names =
          (field: string, of = topic) =>
          (error: unknown) => {
            assert.ok(error instanceof InvalidRecordError);
            assert.deepEqual([error.topic, error.fields, error.offset], [of, [field], undefined]);
            assert.ok(error.message.includes(field) && error.message.includes(of), error.message);
            return true;
          };
        for (const [field, record] of bad) {
          await assert.rejects(log.append([good, record]), names(field));
          const refused = writer.transaction((tx) => {
            tx.append([good, record]);
            tx.checkpoint('k', 'lost');
          });
          await assert.rejects(refused, names(field));
        }
        const state = writer.transaction((tx) => tx.checkpoint('k', number));
        await assert.rejects(state, names('value', lane.state.topic));
        const valueAt = (index: number): string => (index < 2 ? 'v' : number);
        const series = writer.transaction((tx) => tx.append([{ topic, partition: 0, key: 'k', count: 3, valueAt }]));
        await assert.rejects(series, names('value'));
        assert.equal(writer.state.size, 0);
        await writer.transaction((tx) => tx.append([good]));
        assert.deepEqual(values(await collect(log, { topic })), ['v']);
      },
    },
    {
      name: 'transactions run one after another in call order, each seeing the state of those before it',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        const asked = Array.from({ length: 20 }, (_, index) =>
          writer.transaction((tx) => {
            const seen = Number(writer.state.get('count') ?? '0');
            tx.append([{ topic, partition: 0, key: 'k', value: `${index} saw ${seen}` }]);
            tx.checkpoint('count', String(seen + 1));
          }),
        );
        await Promise.all(asked);
        const expected = Array.from({ length: 20 }, (_, index) => `${index} saw ${index}`);
        assert.deepEqual(values(await collect(log, { topic })), expected);
      },
    },
    {
      name: 'the work of a transaction is synchronous: records added later, or after an await, are refused',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        let late: (() => void) | undefined;
        await writer.transaction((tx) => {
          tx.append(numbered(topic, 1));
          late = () => tx.append(numbered(topic, 1, 'late'));
        });
        assert.throws(() => late?.());
        // oxlint-disable-next-line typescript/no-misused-promises -- the mistake under test
        await assert.rejects(writer.transaction(async (tx) => tx.append(numbered(topic, 1, 'async'))));
        assert.deepEqual(values(await collect(log, { topic })), ['0']);
      },
    },
    {
      name: 'state is the newest value per key, null removes it, and the next holder finds it after reopening',
      async run(open) {
        const first = await open();
        const { lane } = await prepareLane(first);
        const writer = await first.openLane(lane);
        await writer.transaction((tx) => {
          tx.checkpoint('a', '1');
          tx.checkpoint('b', '1');
          tx.checkpoint('a', '2');
          tx.checkpoint('c', '');
        });
        await writer.transaction((tx) => {
          tx.checkpoint('b', null);
          tx.checkpoint('d', '1');
          tx.checkpoint('never', null);
        });
        const expected = { a: '2', c: '', d: '1' };
        assert.deepEqual(Object.fromEntries(writer.state), expected);
        await first.close();
        await using second = await open();
        assert.deepEqual(Object.fromEntries(await second.readState(lane.state.topic, 1)), expected);
        assert.equal((await second.readState(lane.state.topic, 0)).size, 0);
        await using next = await second.openLane(lane);
        assert.deepEqual(Object.fromEntries(next.state), expected);
        await next.transaction((tx) => tx.checkpoint('b', 'back'));
        assert.deepEqual(Object.fromEntries(await second.readState(lane.state.topic, 1)), { ...expected, b: 'back' });
      },
    },
    {
      name: "state in memory equals the log's, even if the key of a record selects its partition",
      async run(open) {
        await using log = await open();
        const { topic: plain, lane } = await prepareLane(log);
        const { topic, partition } = lane.state;
        const [here, there] = [keyOf(partition), keyOf(1 - partition)];
        await using writer = await log.openLane(lane);
        await writer.transaction((tx) => {
          tx.append([{ topic: plain, partition: 0, key: 'k', count: 3, valueAt: String }]);
          tx.append([{ topic, key: there, value: 'elsewhere' }]);
          tx.checkpoint(here, 'A');
          tx.append([{ topic, key: here, value: 'B' }]);
        });
        assert.deepEqual([...writer.state], [[here, 'B']]);
        assert.deepEqual([...(await log.readState(topic, partition))], [[here, 'B']]);
        await writer.transaction((tx) => {
          tx.checkpoint(here, 'A');
          tx.append([{ topic, key: here, value: 'B' }]);
          tx.checkpoint(here, 'C');
        });
        assert.deepEqual([...writer.state], [[here, 'C']]);
        assert.deepEqual([...(await log.readState(topic, partition))], [[here, 'C']]);
        const series = writer.transaction((tx) => tx.append([{ topic, key: here, count: 1, valueAt: () => 'x' }]));
        await assert.rejects(series, TypeError);
      },
    },
    {
      name: "a write resets the age of its key's value",
      async run(open) {
        await using log = await open();
        const { lane } = await prepareLane(log);
        {
          await using writer = await log.openLane(lane);
          await writer.transaction((tx) => {
            tx.checkpoint('written', '1');
            tx.checkpoint('removed', '1');
          });
        }
        await sleep(AGE_MS);
        await using writer = await log.openLane(lane);
        await writer.transaction((tx) => {
          tx.checkpoint('written', '2');
          tx.checkpoint('removed', null);
        });
        await writer.transaction((tx) => tx.checkpoint('removed', 'again'));
        assert.deepEqual(
          [...writer.state.keys()].map((key) => [key, writer.state.ageMs(key)]),
          [
            ['written', 0],
            ['removed', 0],
          ],
        );
      },
    },
    {
      name: 'a transaction of 5,000 records arrives completely and in order',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        await writer.transaction((tx) => {
          tx.append(numbered(topic, 5_000));
          tx.checkpoint('crawl', '1');
        });
        const expected = Array.from({ length: 5_000 }, (_, index) => String(index));
        assert.deepEqual(values(await collect(log, { topic })), expected);
      },
    },
    {
      name: 'other writers append while a lane is open, and no record is lost',
      async run(open) {
        await using log = await open();
        await using other = await open();
        const { topic, lane } = await prepareLane(log);
        await using writer = await log.openLane(lane);
        for (let round = 0; round < 10; round++) {
          await Promise.all([
            writer.transaction((tx) => tx.append(numbered(topic, 5, `lane${round}/`))),
            other.append(numbered(topic, 3, `other${round}/`)),
            log.append(numbered(topic, 2, `own${round}/`)),
          ]);
        }
        const found = values(await collect(log, { topic }));
        assert.equal(found.length, 100);
        for (const [label, count] of Object.entries({ lane: 5, other: 3, own: 2 })) {
          const expected = Array.from({ length: 10 * count }, (_, index) => `${label}${Math.floor(index / count)}/${index % count}`);
          assert.deepEqual(
            found.filter((value) => value?.startsWith(label)),
            expected,
          );
        }
      },
    },
    {
      name: 'lanes of one log write to the same partition concurrently, each in its order',
      async run(open) {
        await using log = await open();
        const { lane } = await prepareLane(log);
        const topic = uniqueName('shared');
        await log.createTopics([{ name: topic, partitions: 8 }]);
        const [rounds, count] = [10, 2];
        const work = [
          // While the wide lane writes its eight partitions, transactions of the narrow lane can begin and end in partition 0.
          { lane, label: 'wide', partitions: Array.from({ length: 8 }, (_, partition) => partition) },
          { lane: { name: uniqueName('lane'), state: { ...lane.state, partition: 0 } }, label: 'narrow', partitions: [0] },
        ];
        await Promise.all(
          work.map(async ({ lane, label, partitions }) => {
            await using writer = await log.openLane(lane);
            for (let round = 0; round < rounds; round++) {
              await writer.transaction((tx) => {
                for (const partition of partitions) tx.append(numbered(topic, count, `${label}${round}/`, partition));
              });
            }
          }),
        );
        const found = values(await collect(log, { topic, partitions: [0] }));
        for (const { label } of work) {
          const expected = Array.from({ length: count * rounds }, (_, index) => `${label}${Math.floor(index / count)}/${index % count}`);
          assert.deepEqual(
            found.filter((value) => value?.startsWith(label)),
            expected,
          );
        }
        assert.equal(found.length, work.length * count * rounds);
      },
    },
    {
      name: 'openLane and openTransaction throw the reason of a signal that has already aborted',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        const reason = new Error('enough');
        const signal = AbortSignal.abort(reason);
        await assert.rejects(log.openLane(lane, signal), (error) => error === reason);
        await assert.rejects(log.openTransaction({ topic, partition: 0 }, signal), (error) => error === reason);
        await using writer = await log.openLane(lane, new AbortController().signal);
        await writer.transaction((tx) => tx.append(numbered(topic, 1)));
      },
    },
    {
      name: 'openLane throws if the log is closed meanwhile, and holds no lane',
      async run(open) {
        const log = await open();
        const { lane } = await prepareLane(log);
        const opening = assert.rejects(log.openLane(lane), { code: 'HEADGATE_TOPIC_LOG_CLOSED' });
        await log.close();
        await opening;
        await using other = await open();
        await using writer = await other.openLane(lane);
        assert.equal(writer.state.size, 0);
      },
    },
    {
      name: 'calls in flight when the log is closed succeed, or throw that it is closed',
      async run(open) {
        const log = await open();
        const { topic, lane } = await prepareLane(log);
        const group = uniqueName('group');
        const calls = Promise.allSettled([
          log.createTopics([{ name: topic, partitions: 2 }]),
          log.listTopics([topic]),
          log.append(numbered(topic, 1)),
          log.readState(lane.state.topic, lane.state.partition),
          log.openTransaction({ topic, partition: 0 }),
          log.groupOffset({ group, topic, partition: 0 }),
          log.recordLimit(topic),
          log.offsetSince({ topic, partition: 0 }, 0),
          log.offsets([{ topic, partition: 0 }], 'end'),
          log.read({ topic, group }).commit({ topic, partition: 0, offset: 0 }),
        ]);
        await log.close();
        for (const call of await calls)
          if (call.status === 'rejected') assert.equal((call.reason as { readonly code?: unknown }).code, 'HEADGATE_TOPIC_LOG_CLOSED');
      },
    },
    {
      name: 'a lane needs an existing, compacted state partition',
      async run(open) {
        await using log = await open();
        const { topic, lane } = await prepareLane(log);
        await assert.rejects(log.openLane({ ...lane, state: { topic: uniqueName('missing'), partition: 0 } }), TopicUnknownError);
        await assert.rejects(log.openLane({ ...lane, state: { ...lane.state, partition: 7 } }), TopicUnknownError);
        await assert.rejects(log.openLane({ ...lane, state: { topic, partition: 0 } }));
        await using writer = await log.openLane(lane);
        await writer.transaction((tx) => tx.append(numbered(topic, 1)));
      },
    },
    {
      name: 'close ends a lane after the transactions called before it; later ones are refused; closing again does nothing',
      async run(open) {
        const log = await open();
        const { topic, lane } = await prepareLane(log);
        const writer = await log.openLane(lane);
        const asked = writer.transaction((tx) => tx.append(numbered(topic, 1)));
        await Promise.all([asked, writer.close(), writer.close()]);
        await assert.rejects(writer.transaction((tx) => tx.append(numbered(topic, 1, 'late'))));
        assert.deepEqual(values(await collect(log, { topic })), ['0']);
        await using again = await log.openLane(lane);
        await again.transaction((tx) => tx.append(numbered(topic, 1, 'again')));
        await log.close();
        await log.close();
        await assert.rejects(again.transaction((tx) => tx.append(numbered(topic, 1, 'late'))));
        await assert.rejects(log.append(numbered(topic, 1, 'late')));
        await assert.rejects(log.openLane(lane));
        await using reopened = await open();
        assert.deepEqual(values(await collect(reopened, { topic })), ['0', 'again0']);
      },
    },
  ];
}
