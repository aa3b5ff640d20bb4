import { test } from 'vitest';
import type { Cluster } from '../client/cluster.ts';
import { certainTopicMetadata, partitionCount } from './topic-metadata.ts';

const THERE = 0;
const UNKNOWN = 3;
const HIDDEN = 29;
const wanted = new Map([['records', 2]]);

test.concurrent('if the first broker doesn’t know a topic, another one is asked', async ({ expect }) => {
  const found = await certainTopicMetadata(clusterOf([() => answer(UNKNOWN, 0), () => answer(THERE, 2)]), wanted);
  expect(partitionCount(found.get('records'))).toBe(2);
});

test.concurrent('fewer partitions than before are accepted only if no broker knows more', async ({ expect }) => {
  const lagging = (): object => answer(THERE, 1);
  expect(partitionCount((await certainTopicMetadata(clusterOf([lagging, () => answer(THERE, 3)]), wanted)).get('records'))).toBe(3);
  expect(partitionCount((await certainTopicMetadata(clusterOf([lagging, lagging]), wanted)).get('records'))).toBe(1);
  const three = new Map([['records', 3]]);
  const found = await certainTopicMetadata(clusterOf([() => answer(THERE, 2), lagging]), three);
  expect(partitionCount(found.get('records'))).toBe(2);
});

test.concurrent("brokers that don't respond are ignored; if none responds, that is the error", async ({ expect }) => {
  const away = (): object => {
    throw new Error('away');
  };
  expect(partitionCount((await certainTopicMetadata(clusterOf([away, () => answer(THERE, 2)]), wanted)).get('records'))).toBe(2);
  expect((await certainTopicMetadata(clusterOf([away, () => answer(UNKNOWN, 0)]), wanted)).get('records')).toBeUndefined();
  await expect(certainTopicMetadata(clusterOf([away, away]), wanted)).rejects.toThrow('away');
});

test.concurrent('a topic that this user isn’t allowed to see isn’t called missing', async ({ expect }) => {
  await expect(certainTopicMetadata(clusterOf([() => answer(HIDDEN, 0)]), wanted)).rejects.toThrow(
    'This user lacks Describe on topic records.',
  );
});

function answer(topicErrorCode: number, partitions: number): object {
  const partitionMetadata = Array.from({ length: partitions }, (_, partitionId) => ({ partitionId, replicas: [1] }));
  return { topicMetadata: [{ topic: 'records', topicErrorCode, partitionMetadata }] };
}

/** A cluster of brokers 0, 1 and so on. Broker 0 answers requests that name no broker. */
function clusterOf(answers: readonly (() => object)[]): Cluster {
  const nodes = new Map(answers.map((_, index) => [index, String(index)]));
  const metadata = async (_: unknown, broker = '0'): Promise<object> => await Promise.resolve(answers[Number(broker)]?.() ?? {});
  return { metadata, nodes } as object as Cluster;
}
