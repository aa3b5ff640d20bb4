import { randomUUID } from 'node:crypto';
import { expect } from 'vitest';
import type { LaneSpec, LaneTransaction, LaneWriter, TopicLog } from '../../topic-log.ts';
import { committedRecords, lookPatiently, plainKafka } from './committed-records.fixture.ts';

/** Numbered pages that a lane writes. Each page has records in every partition, a checkpoint and a group's offset. */
export interface Pages {
  readonly lane: LaneSpec;
  readonly topic: string;
  readonly group: string;
  next: number;
  /** Writes the next pages. Resolves when they are acknowledged. */
  write(writer: LaneWriter, count?: number): Promise<void>;
  /** Returns the work of a transaction that writes page `number`. */
  content(number: number): (tx: LaneTransaction) => void;
  /**
   * Checks that every page up to the last acknowledged one exists once and in order, and that state and group agree with that. Resolves to the
   * number of pages.
   */
  verify(brokers: readonly string[], log: TopicLog): Promise<number>;
}

const RECORDS = 3;

export interface PagesOptions {
  /** Number of partitions of the records' topic. Default 2. */
  readonly partitions?: number;
  /** Name of the lane, with which the names of its topics begin. Default: a random name. */
  readonly name?: string;
}

export async function newPages(log: TopicLog, { partitions = 2, name = `pages-${randomUUID()}` }: PagesOptions = {}): Promise<Pages> {
  const [topic, state, requests] = [`${name}.records`, `${name}.state`, `${name}.requests`];
  await log.createTopics([
    { name: topic, partitions },
    { name: state, partitions: 1, compacted: true },
    { name: requests, partitions: 1 },
  ]);
  const places = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }));
  const pages: Pages = {
    lane: { name, state: { topic: state, partition: 0 }, writes: places, commits: [{ group: name, topic: requests, partition: 0 }] },
    topic,
    group: name,
    next: 0,
    async write(writer, count = 1) {
      for (let left = count; left > 0; left -= 1) {
        await writer.transaction(pages.content(pages.next));
        pages.next += 1;
      }
    },
    content: (number) => (tx) => {
      for (const place of places) tx.append(valuesOf(number).map((value) => ({ ...place, key: 'page', value })));
      tx.checkpoint('page', String(number));
      tx.commitOffset({ group: name, topic: requests, partition: 0, nextOffset: number + 1 });
    },
    async verify(brokers, log) {
      const seen = await committedRecords(brokers, topic);
      const all = Array.from({ length: pages.next }, (_, number) => valuesOf(number)).flat();
      for (const { partition } of places)
        expect(seen.filter((record) => record.partition === partition).map(({ value }) => value)).toEqual(all);
      const last = String(pages.next - 1);
      const states = (await committedRecords(brokers, state)).filter(({ key }) => key === 'page');
      expect(states.map(({ value }) => value)).toEqual(Array.from({ length: pages.next }, (_, number) => String(number)));
      expect((await log.readState(state, 0)).get('page')).toBe(last);
      expect(await committedOffset(brokers, name, requests)).toBe(pages.next);
      return pages.next;
    },
  };
  return pages;
}

function valuesOf(page: number): readonly string[] {
  return Array.from({ length: RECORDS }, (_, index) => `${page}/${index}`);
}

async function committedOffset(brokers: readonly string[], groupId: string, topic: string): Promise<number> {
  return await lookPatiently(60_000, async () => {
    const admin = plainKafka(brokers).admin();
    try {
      await admin.connect();
      const [found] = await admin.fetchOffsets({ groupId, topics: [topic] });
      return Number(found?.partitions[0]?.offset);
    } finally {
      await admin.disconnect();
    }
  });
}
