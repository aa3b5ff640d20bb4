import { expect, it } from 'vitest';
import { Client } from '../client/client.ts';
import { FakeCluster } from '../client/fake-cluster.fixture.ts';
import { TopicDirectory } from './topic-directory.ts';

const STATE = { topic: 'state', partition: 0 };

/** A directory on a cluster whose topic `state` has one partition, and this ID and policy. `asked` counts the requests for settings. */
function directoryOf(topic: { id: string; policy: string }) {
  const asked = { settings: 0 };
  const cluster = new FakeCluster((api) => {
    if (api === 'Metadata') {
      const partitionMetadata = [{ partitionId: 0, leader: 1, replicas: [1] }];
      const topicMetadata = [{ topic: 'state', topicId: topic.id, topicErrorCode: 0, partitionMetadata }];
      return { answer: { brokers: [{ nodeId: 1, host: 'any', port: 9092 }], topicMetadata } };
    }
    asked.settings += 1;
    return { answer: new Map([['state', new Map([['cleanup.policy', topic.policy]])]]) };
  });
  return { directory: new TopicDirectory(new Client(cluster)), asked };
}

it('the settings of a topic are fetched once, and again if it was recreated: another topic may keep its state for a week', async () => {
  const topic = { id: 'first', policy: 'compact' };
  const { directory, asked } = directoryOf(topic);
  const policy = async (): Promise<unknown> => (await directory.find(['state'])).get('state')?.settings.get('cleanup.policy');
  expect([await policy(), await policy(), asked.settings]).toEqual(['compact', 'compact', 1]);
  Object.assign(topic, { id: 'second', policy: 'delete' });
  expect([await policy(), asked.settings]).toEqual(['delete', 2]);
  expect((await directory.describe('state')).settings.get('cleanup.policy')).toBe('delete');
});

it('partitions that are not known are looked up in one request, known ones in none', async () => {
  const { directory, asked } = directoryOf({ id: 'first', policy: 'compact' });
  await directory.assertPartitions([STATE, STATE]);
  await directory.assertPartitions([STATE]);
  expect(asked.settings).toBe(1);
  await expect(directory.assertPartitions([STATE, { topic: 'state', partition: 1 }])).rejects.toMatchObject({
    topic: 'state',
    partition: 1,
  });
  await expect(directory.describe('state', NaN)).rejects.toMatchObject({ topic: 'state', partition: NaN });
});
