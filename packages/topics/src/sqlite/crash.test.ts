import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from 'vitest';
import { startChild } from './child.fixture.ts';
import { LogStore } from './log-store.ts';
import { isSeriesValues, unpacked } from './series-values.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';
import { partitionOf } from './topic-table.ts';

const KILLS = 24;
const RECORDS = 200;
const SERIES_RECORDS = 5_000;

it(
  'after kill -9 at random instants every transaction is there whole or not at all, and every acknowledged one is there',
  { timeout: 600_000 },
  async () => {
    const file = join(temporaryFolder(), 'log.db');
    let acknowledged = 0;
    let killedInWork = 0;
    for (let kill = 0; kill < KILLS; kill++) {
      const writer = startChild({
        script: new URL('./crashing-writer.fixture.ts', import.meta.url),
        args: [file, String(RECORDS), String(SERIES_RECORDS)],
      });
      // Kill some writers while they open the file, and most of them while they write.
      // oxlint-disable-next-line machine/no-sleep -- any instant will do
      if (kill % 6 === 0) await pause(Math.random() * 150);
      else {
        // The writer prints this line only if the lane of its killed predecessor is free.
        await writer.line('open');
        if (kill % 2 === 1) await writer.line('page ');
        // oxlint-disable-next-line machine/no-sleep -- any instant will do
        await pause(Math.random() * 60);
      }
      await writer.kill();
      const pages = writer.lines.flatMap((line) => (line.startsWith('page ') ? Number(line.slice('page '.length)) : []));
      if (pages.length > 0) killedInWork++;
      const before = acknowledged;
      acknowledged = verify(file, Math.max(acknowledged, ...pages), before);
    }
    expect(verify(file, acknowledged, 0)).toBe(acknowledged);
    expect(killedInWork).toBeGreaterThan(KILLS / 3);
  },
);

/**
 * Checks the log after the first `seen` pages, and returns its last page, which may never have been acknowledged. It reads without the log's
 * thread, which is faster.
 */
function verify(file: string, acknowledged: number, seen: number): number {
  const store = new LogStore({ file, busyTimeoutMs: 0, tombstoneRetentionMs: 0, maxFileBytes: 0 });
  try {
    if (store.topics.find('state') === null) return acknowledged;
    const state = store.readState('state', 0);
    const last = Number(state.values[state.keys.indexOf('page')] ?? '0');
    expect(last).toBeGreaterThanOrEqual(acknowledged);
    expect(last).toBeLessThanOrEqual(acknowledged + 1);
    expect(readBack(store, 'pages', 0, seen)).toEqual(written(seen, last, (index) => `${index + 1}`));
    for (const [partition, each] of [
      [1, RECORDS],
      [2, SERIES_RECORDS],
    ] as const) {
      const ids = written(seen * each, last * each, (index) => `${Math.floor(index / each) + 1}/${index % each}`);
      expect(isDeepStrictEqual(readBack(store, 'ids', partition, seen * each), ids)).toBe(true);
    }
    expect(readBack(store, 'ids', 0, 0)).toEqual([]);
    expect(store.groups.get('crawler', partitionOf(store.topics.get('pages'), 0).id)).toBe(last === 0 ? null : last);
    return last;
  } finally {
    store.close();
  }
}

/** The records that `readBack` must find from one offset to another. */
const written = (from: number, to: number, valueAt: (index: number) => string): string[] =>
  Array.from({ length: to - from }, (_, index) => `${from + index} ${valueAt(from + index)}`);

/** Returns each record of a partition from an offset on, as `<offset> <value>`. */
function readBack(store: LogStore, topic: string, partition: number, first: number): string[] {
  const stored = partitionOf(store.topics.get(topic), partition);
  const found: string[] = [];
  for (let from = first; from < stored.nextOffset;) {
    const { offsets, values, next } = store.records.chunk(stored, from, stored.nextOffset);
    for (const [entry, offset] of offsets.entries()) {
      const value = values[entry] ?? null;
      const texts = isSeriesValues(value) ? unpacked(value) : [String(value)];
      found.push(...texts.map((text, index) => `${offset + index} ${text}`));
    }
    from = next;
  }
  return found;
}
