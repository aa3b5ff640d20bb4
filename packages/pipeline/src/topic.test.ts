import { partitionForKey } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import { z } from 'zod';
import { type TopicDefinition, logRecords, recordMakers, topic } from './topic.ts';
import { topicNames } from './names.ts';

const item = z.object({ item: z.string() });

async function makerOf(definition: TopicDefinition<{ item: string }>, { validate = false, names = topicNames() } = {}) {
  const { signal } = new AbortController();
  const makers = await recordMakers({ pipeline: 'shelves', topics: { records: definition }, names, partition: 3, validate, signal });
  const maker = makers['records'];
  if (maker === undefined) throw new Error('there is a maker for each topic');
  return maker;
}

const of = (content: { readonly item: unknown }): { item: string } => content as { item: string };

describe('a record', () => {
  it('goes to the partition of its lane, as JSON', async () => {
    const records = await makerOf(topic({ value: item }));
    expect(records({ key: 'a', value: { item: 'é' }, headers: { one: '1' } })).toEqual({
      name: 'records',
      record: { topic: 'shelves.records', partition: 3, key: 'a', value: '{"item":"é"}', headers: { one: '1' } },
      id: undefined,
      kind: 'records',
      count: 1,
    });
  });

  it('goes to the partition of its key in a topic with partitions of its own', async () => {
    const records = await makerOf(topic({ value: item, partitions: 7 }));
    for (const key of ['a', 'b', 'c', null]) {
      expect(records({ key, value: { item: 'x' } }).record.partition).toBe(partitionForKey(key ?? '', 7));
      expect(records.series({ key, count: 1, textAt: String }).record.partition).toBe(partitionForKey(key ?? '', 7));
    }
  });

  it('is named by prefix and by names of its own', async () => {
    const named = async (naming: Parameters<typeof topicNames>[0]): Promise<string> =>
      (await makerOf(topic({ value: item }), { names: topicNames(naming) }))({ key: null, value: { item: 'x' } }).record.topic;
    expect(await named({ prefix: 'prod.' })).toBe('prod.shelves.records');
    expect(await named({ prefix: 'prod.', names: { 'shelves.records': 'team.shelves' } })).toBe('team.shelves');
  });

  it('is written by the topic’s serializer, which is opened once with the topic’s name on the log', async () => {
    const opened: string[] = [];
    const records = await makerOf(
      topic({
        value: item,
        serialize: {
          async open({ topic: name }) {
            opened.push(name);
            await Promise.resolve();
            return (value) => `<${value.item}>`;
          },
        },
      }),
      { names: topicNames({ prefix: 'p.' }) },
    );
    const values = ['x', 'y'].map((text) => records({ key: null, value: { item: text } }).record);
    expect(values).toMatchObject([{ value: '<x>' }, { value: '<y>' }]);
    expect(opened).toEqual(['p.shelves.records']);
  });
});

describe('with validate', () => {
  const misfit = expect.objectContaining({
    code: 'HEADGATE_INVALID_RECORD',
    message: expect.stringMatching(/^shelves\.records: a record does not fit the schema of its topic: item: /) as string,
  }) as Error;

  it('a value, a serialized one and each of a series is checked against the schema', async () => {
    const records = await makerOf(topic({ value: item }), { validate: true });
    expect(() => records({ key: null, value: of({ item: 7 }) })).toThrow(misfit);
    expect(() => records.serialized({ key: null, text: '{"item":7}' })).toThrow(misfit);
    const textAt = (i: number): string => JSON.stringify({ item: i < 2 ? 'x' : 7 });
    expect(() => records.series({ key: null, count: 3, textAt })).toThrow(misfit);
    expect(records.series({ key: null, count: 2, textAt }).count).toBe(2);
  });

  it('without it, none is', async () => {
    const records = await makerOf(topic({ value: item }));
    expect(records({ key: null, value: of({ item: 7 }) }).record).toMatchObject({ value: '{"item":7}' });
  });

  it('a text that the topic’s own serializer wrote need not be JSON', async () => {
    const records = await makerOf(topic({ value: item, serialize: ({ item: text }) => text }), { validate: true });
    expect(records.serialized({ key: null, text: 'no JSON' }).record).toMatchObject({ value: 'no JSON' });
    expect(records.series({ key: null, count: 2, textAt: () => 'no JSON' }).count).toBe(2);
    expect(() => records({ key: null, value: of({ item: 7 }) })).toThrow(misfit);
  });
});

test('each record of a request has an id of its own, the same when they are made again', async () => {
  const records = await makerOf(topic({ value: item }));
  const value = { item: 'x' };
  const pending = [
    records({ key: 'a', value }),
    records({ key: 'a', value, id: 'own' }),
    records({ key: 'a', value }),
    records.series({ key: 'a', count: 2, textAt: () => '{}' }),
    records({ key: 'a', value, headers: { ce_id: 'given', other: '1' } }),
    records({ key: 'a', value, id: '' }),
  ];
  const made = logRecords(pending, { pipeline: 'shelves', request: 'shelves.requests-0-7', defaultId: '2' });
  const ids = made.map((record) => ('valueAt' in record ? 'series' : record.headers?.['ce_id']));
  const request = 'shelves.requests-0-7';
  expect(ids).toEqual([`${request}/2`, `${request}/own`, `${request}/2/1`, 'series', 'given', request]);
  expect(made[0]).toMatchObject({ headers: { ce_source: '/shelves', ce_type: 'headgate.shelves.records' } });
  expect(logRecords(pending, { pipeline: 'shelves', request, defaultId: '2' })).toEqual(made);
});

test.each([0, -1, 1.5, NaN])('a topic can’t have %s partitions', (partitions) => {
  expect(() => topic({ value: item, partitions })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});
