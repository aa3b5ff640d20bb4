import { expect, test } from 'vitest';
import * as z from 'zod';
import { definePipeline } from '../definition/define-pipeline.ts';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { type TopicDefinition, topic } from '../topics/topic.ts';
import { start } from './start.ts';

const STOP = new Error('the group is asked');

/** What a process whose topic has these settings agrees with its group. */
async function agreementOf(settings: Partial<TopicDefinition<unknown>>): Promise<string> {
  await using temporary = await temporaryLog();
  const { promise, resolve } = Promise.withResolvers<string>();
  const log = logWith(temporary.log, {
    joinGroup: async ({ agreement }) => {
      resolve(agreement);
      return await Promise.reject(STOP);
    },
  });
  const records = topic({ value: z.unknown(), serialize: JSON.stringify, ...settings });
  const pipeline = definePipeline({
    name: 'shelves',
    options: z.strictObject({}),
    request: z.unknown(),
    topics: { records },
    keyOf: String,
    open() {
      throw new TypeError('no lane is opened');
    },
  });
  await expect(start({ log, pipelines: [pipeline({})] })).rejects.toBe(STOP);
  return await promise;
}

test('processes of a group agree about the formats, the partitions and the compaction of their topics', async () => {
  const all = await Promise.all([
    agreementOf({}),
    agreementOf({ format: 'avro' }),
    agreementOf({ compacted: true }),
    agreementOf({ partitions: 1 }),
    agreementOf({ partitions: 2 }),
  ]);
  expect(new Set(all).size).toBe(all.length);
  expect(await agreementOf({ format: 'json', compacted: false })).toBe(all[0]);
});
