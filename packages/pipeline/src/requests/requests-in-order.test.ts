import type { TopicLog } from '@headgate/topics';
import { describe, expect, it } from 'vitest';
import { temporaryLog } from '../temporary-log.fixture.ts';
import { requestsInOrder } from './requests-in-order.ts';

const topic = 'shelves.requests';
const resumed = [7, 5, 1, 0].map((offset) => ({ offset, key: null, value: `kept ${offset}` }));

describe('requestsInOrder', () => {
  it('gives each request once and by offset: as the topic has it, else as it was kept', async () => {
    await using place = await temporaryLog([{ name: topic, partitions: 1 }]);
    await appendThree(place.log);
    const values: (string | null)[] = [];
    for await (const { value } of requestsInOrder({ log: place.log, topic, partition: 0, from: 1, resumed })) values.push(value);
    expect(values).toEqual(['request 1', 'request 2', 'kept 5', 'kept 7']);
  });

  it('takes nothing for deleted when the reading was cut short', async () => {
    await using place = await temporaryLog([{ name: topic, partitions: 1 }]);
    await appendThree(place.log);
    const stop = new AbortController();
    const offsets: number[] = [];
    for await (const { offset } of requestsInOrder({ log: place.log, topic, partition: 0, from: 0, resumed, signal: stop.signal })) {
      offsets.push(offset);
      stop.abort();
    }
    expect(offsets).toEqual([0]);
  });
});

async function appendThree(log: TopicLog): Promise<void> {
  await log.append([0, 1, 2].map((offset) => ({ topic, key: null, value: `request ${offset}` })));
}
