import { expect, test } from 'vitest';
import { Cluster, clusterOptions } from '../client/cluster.ts';
import type { KafkajsBroker } from '../client/kafkajs-internals.ts';
import { nextMaxBytes, partitionsOf } from './fetch.ts';

const KB = 1_024;

test('a response of many small records makes the next fetch smaller, and one of a few large records larger, within limits', () => {
  const after = (records: number, maxBytes: number, answers: number): number =>
    Array.from({ length: answers }).reduce((bytes: number) => nextMaxBytes({ maxBytes: bytes, records }), maxBytes);
  expect(nextMaxBytes()).toBe(128 * KB);
  expect(after(20_000, 512 * KB, 1)).toBe(256 * KB);
  expect(after(20_000, 512 * KB, 9)).toBe(64 * KB);
  expect(after(100, 128 * KB, 1)).toBe(256 * KB);
  expect(after(100, 128 * KB, 9)).toBe(4_096 * KB);
});

test('a response of some thousand records, or of none, keeps the fetch size', () => {
  for (const records of [0, 5_000, 10_000]) expect(nextMaxBytes({ maxBytes: 128 * KB, records })).toBe(128 * KB);
});

test('a topic is not called empty because the metadata that arrives was requested before it', async () => {
  const cluster = new Cluster(clusterOptions({ brokers: ['nowhere:9092'] }));
  const earlier = Promise.withResolvers<void>();
  const requested: (readonly string[])[] = [];
  const here = { nodeId: 1, host: 'nowhere', port: 9092, rack: '' };
  const seedBroker = Object.assign({} as KafkajsBroker, {
    connectionPool: here,
    isConnected: () => true,
    async metadata(topics: readonly string[]) {
      if (requested.push([...topics]) === 1) await earlier.promise;
      const partitionMetadata = [1, 0].map((partitionId) => ({ partitionId, leader: 1 }));
      return { brokers: [here], topicMetadata: topics.map((topic) => ({ topic, partitionMetadata })) };
    },
  });
  Object.assign(cluster.brokerPool, { seedBroker, brokers: { 1: seedBroker } });
  const refreshing = cluster.refreshMetadata();
  const partitions = partitionsOf(cluster, 'late');
  earlier.resolve();
  await refreshing;
  expect([await partitions, requested]).toEqual([
    [0, 1],
    [[], ['late']],
  ]);
});
