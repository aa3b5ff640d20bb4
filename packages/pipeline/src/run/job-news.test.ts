import { virtualClock } from '@headgate/throttle/testing';
import type { TopicPartition } from '@headgate/topics';
import { expect, test } from 'vitest';
import { JobNews } from './job-news.ts';

/** A log whose partitions have these offsets, by number. `asked`: the partitions of each call. */
function fakeLog() {
  const partitions = [0, 1, 2].map(() => ({ end: 5, written: 5 }));
  const asked: string[] = [];
  const state = { error: undefined as Error | undefined };
  return {
    partitions,
    asked,
    state,
    async offsets(places: readonly TopicPartition[], which: 'earliest' | 'end' | 'written'): Promise<readonly number[]> {
      asked.push(`${which} ${places.map(({ partition }) => partition).join()}`);
      if (state.error !== undefined) throw state.error;
      return await Promise.resolve(places.map(({ partition }) => (which === 'earliest' ? 0 : (partitions[partition]?.[which] ?? 0))));
    },
  };
}

function watching(lanes: number) {
  const clock = virtualClock();
  const log = fakeLog();
  const news = new JobNews(log, clock);
  const woken: number[] = [];
  const watched = Array.from({ length: lanes }, (_, partition) => news.watch({ topic: 't', partition }, () => void woken.push(partition)));
  /** The calls of the log and the lanes that were woken within this time. */
  const after = async (ms: number) => {
    await clock.advance(ms);
    return { asked: log.asked.splice(0), woken: woken.splice(0) };
  };
  return { clock, log, news, watched, after };
}

test('one request covers all lanes, and only those whose topics have changed are woken', async () => {
  const { log, watched, after } = watching(3);
  expect(await after(250)).toEqual({ asked: ['written 0,1,2', 'end 0,1,2'], woken: [0, 1, 2] });
  expect(watched.map(({ mayBeOpen }) => mayBeOpen)).toEqual([false, false, false]);
  await after(2_000);
  expect(await after(10_000)).toEqual({ asked: Array.from({ length: 10 }, () => 'written 0,1,2'), woken: [] });
  log.partitions[1] = { end: 7, written: 7 };
  expect(await after(750)).toEqual({ asked: ['written 0,1,2', 'end 1'], woken: [1] });
  expect((await after(250)).asked).toEqual(['written 0,1,2']);
});

test('a lane is woken when a transaction begins, and when readers can read on after it', async () => {
  const { log, watched, after } = watching(2);
  await after(5_000);
  log.partitions[0] = { end: 5, written: 6 };
  expect((await after(1_000)).woken).toEqual([0]);
  expect(watched.map(({ mayBeOpen }) => mayBeOpen)).toEqual([true, false]);
  const { asked, woken } = await after(3_000);
  expect([woken, new Set(asked)]).toEqual([[], new Set(['written 0,1', 'end 0'])]);
  // A broker can count the end marker before readers see what it ends.
  log.partitions[0] = { end: 5, written: 7 };
  expect((await after(1_000)).woken).toEqual([0]);
  log.partitions[0] = { end: 7, written: 7 };
  expect((await after(1_000)).woken).toEqual([0]);
  expect(watched.map(({ mayBeOpen }) => mayBeOpen)).toEqual([false, false]);
});

test('a topic that was cut off wakes its lane', async () => {
  const { log, after } = watching(1);
  await after(5_000);
  log.partitions[0] = { end: 0, written: 0 };
  expect((await after(1_000)).woken).toEqual([0]);
});

test('an error wakes all lanes, once a second', async () => {
  const { log, after } = watching(2);
  await after(5_000);
  log.state.error = new Error('gone');
  expect((await after(3_000)).woken).toEqual([0, 1, 0, 1, 0, 1]);
  log.state.error = undefined;
  await after(1_000);
  expect((await after(3_000)).woken).toEqual([]);
});

test('nothing is checked while no lane watches', async () => {
  const { clock, log, news, watched, after } = watching(2);
  await after(5_000);
  watched[0]?.[Symbol.dispose]();
  expect((await after(1_000)).asked).toEqual(['written 1']);
  watched[1]?.[Symbol.dispose]();
  expect([await after(5_000), clock.pending]).toEqual([{ asked: [], woken: [] }, 0]);
  // The last lane can leave during a check, and another one can come.
  const gate = Promise.withResolvers<void>();
  const offsets = log.offsets.bind(log);
  log.offsets = async (...given) => {
    await gate.promise;
    return await offsets(...given);
  };
  const late = news.watch({ topic: 't', partition: 0 }, () => undefined);
  await after(1_000);
  late[Symbol.dispose]();
  using _ = news.watch({ topic: 't', partition: 2 }, () => undefined);
  gate.resolve();
  await after(5_000);
  expect(clock.pending).toBe(1);
  expect((await after(3_000)).asked).toEqual(Array.from({ length: 3 }, () => 'written 2'));
});
