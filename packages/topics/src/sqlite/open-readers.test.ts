import { join } from 'node:path';
import { expect, it, onTestFinished, vi } from 'vitest';
import { LogStore } from './log-store.ts';
import { OpenReaders } from './open-readers.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';

it('a waiting reader polls every pollMs at first, and up to five times less often while nothing arrives', async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const options = { file: join(temporaryFolder(), 'log.db'), busyTimeoutMs: 0, pollMs: 50, tombstoneRetentionMs: 0, maxFileBytes: 0 };
  const [store, other] = [new LogStore(options), new LogStore(options)];
  const readers = new OpenReaders(store, 50);
  onTestFinished(() => {
    readers.closeAll();
    store.close();
    other.close();
  });
  other.createTopics([{ name: 'topic', partitions: 1 }], false);
  const append = (to: LogStore, value: string): void => {
    const batch = { topic: 'topic', partitions: [null], keys: ['k'], values: [value], headers: [null] };
    to.write({ lane: null, batches: [batch], offsets: [], nowMs: 0, positions: false });
  };
  const looks = vi.spyOn(store, 'dataVersion');
  const looksWithin = (ms: number): number => {
    looks.mockClear();
    vi.advanceTimersByTime(ms);
    return looks.mock.calls.length;
  };
  readers.open({ reader: 1, topic: 'topic', partitions: null, group: null, from: 'earliest', follow: true });

  const first = Promise.resolve(readers.next(1));
  expect(looksWithin(200)).toBeGreaterThan(2);
  looksWithin(60_000);
  expect(looksWithin(60_000)).toBe(60_000 / 250);
  append(other, 'first');
  expect(looksWithin(250)).toBe(1);
  expect((await first)?.values).toEqual(['first']);
  expect(looksWithin(60_000)).toBe(0);

  const second = Promise.resolve(readers.next(1));
  append(other, 'second');
  expect(looksWithin(50)).toBe(1);
  expect((await second)?.values).toEqual(['second']);

  const third = Promise.resolve(readers.next(1));
  looksWithin(60_000);
  other.createTopics([{ name: 'another', partitions: 1 }], false);
  expect(looksWithin(250 + 200)).toBeGreaterThan(3);
  looksWithin(60_000);
  append(store, 'own');
  readers.wake();
  expect((await third)?.values).toEqual(['own']);

  const fourth = Promise.resolve(readers.next(1));
  append(other, 'fourth');
  expect(looksWithin(50)).toBe(1);
  expect((await fourth)?.values).toEqual(['fourth']);
});
