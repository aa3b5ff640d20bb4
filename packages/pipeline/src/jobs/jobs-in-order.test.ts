import fc from 'fast-check';
import type { TopicLog } from '@headgate/topics';
import { describe, expect, it } from 'vitest';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';
import { jobsInOrder } from './jobs-in-order.ts';

const topic = 'shelves.requests';
const resumed = [7, 5, 1, 0].map((offset) => ({ offset, key: null, value: `kept ${offset}` }));

describe('jobsInOrder', () => {
  it('returns each request once, in order of offset: from the topic, or else from the state', async () => {
    await using place = await temporaryLog([{ name: topic, partitions: 1 }]);
    await appendThree(place.log);
    const values: (string | null)[] = [];
    for await (const { value } of jobsInOrder({ log: place.log, topic, partition: 0, from: 1, resumed })) values.push(value);
    expect(values).toEqual(['request 1', 'request 2', 'kept 5', 'kept 7']);
  });

  it('returns requests from the topic and from the state, whichever the topic has deleted', async () => {
    const offsets = fc.uniqueArray(fc.nat(12));
    await fc.assert(
      fc.asyncProperty(offsets, offsets, fc.nat(12), async (there, kept, from) => {
        const read = there.filter((offset) => offset >= from).sort((a, b) => a - b);
        const log = {
          async *readBytes() {
            for (const offset of read)
              yield await Promise.resolve({
                topic,
                partition: 0,
                offset,
                key: null,
                value: Buffer.from('there'),
                headers: {},
                timestampMs: 0,
              });
          },
        };
        const given: string[] = [];
        const begun = kept.map((offset) => ({ offset, key: null, value: 'kept' }));
        for await (const { offset, value } of jobsInOrder({ log, topic, partition: 0, from, resumed: begun }))
          given.push(`${offset} ${value}`);
        const all = [...new Set([...read, ...kept.filter((offset) => offset >= from)])].sort((a, b) => a - b);
        expect(given).toEqual(all.map((offset) => `${offset} ${read.includes(offset) ? 'there' : 'kept'}`));
      }),
    );
  });

  it('treats no request as deleted if the read was interrupted', async () => {
    await using place = await temporaryLog([{ name: topic, partitions: 1 }]);
    await appendThree(place.log);
    const stop = new AbortController();
    const offsets: number[] = [];
    for await (const { offset } of jobsInOrder({ log: place.log, topic, partition: 0, from: 0, resumed, signal: stop.signal })) {
      offsets.push(offset);
      stop.abort();
    }
    expect(offsets).toEqual([0]);
  });
});

async function appendThree(log: TopicLog): Promise<void> {
  await log.append([0, 1, 2].map((offset) => ({ topic, key: null, value: `request ${offset}` })));
}
