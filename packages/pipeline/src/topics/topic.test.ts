import { partitionForKey } from '@headgate/topics';
import { describe, expect, it, test } from 'vitest';
import * as z from 'zod';
import { type TopicDefinition, logRecords, openSerializers, recordMakers, topic } from './topic.ts';
import { topicNames } from './names.ts';

const item = z.object({ item: z.string() });

async function makerOf(definition: TopicDefinition<{ item: string }>, { validate = false, names = topicNames() } = {}) {
  const { signal } = new AbortController();
  const topics = { records: definition };
  const serializers = await openSerializers([{ name: 'shelves', topics }], names, signal);
  const makers = recordMakers({ pipeline: 'shelves', topics, names, partition: 3, validate, serializers });
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
      contentType: undefined,
      count: 1,
    });
  });

  it('goes to the partition of its key in a topic with its own partitions', async () => {
    const records = await makerOf(topic({ value: item, partitions: 7 }));
    for (const key of ['a', 'b', 'c', null]) {
      expect(records({ key, value: { item: 'x' } }).record.partition).toBe(partitionForKey(key ?? '', 7));
      expect(records.series({ key, count: 1, textAt: String }).record.partition).toBe(partitionForKey(key ?? '', 7));
    }
  });

  it('has a topic name with the prefix, or a custom one', async () => {
    const named = async (naming: Parameters<typeof topicNames>[0]): Promise<string> =>
      (await makerOf(topic({ value: item }), { names: topicNames(naming) }))({ key: null, value: { item: 'x' } }).record.topic;
    expect(await named({ prefix: 'prod.' })).toBe('prod.shelves.records');
    expect(await named({ prefix: 'prod.', names: { 'shelves.records': 'team.shelves' } })).toBe('team.shelves');
  });

  it('is written by the serializer of its topic, which is opened once with the name on the log', async () => {
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

  it('may be bytes, also in a series, where no text bypasses the serializer', async () => {
    const bytesOf = (value: { item: string }): Uint8Array => Uint8Array.of(0xff, value.item.length);
    const records = await makerOf(topic({ value: item, serialize: bytesOf, partitions: 7 }));
    const key = Uint8Array.of(0, 0xff);
    const made = records({ key, value: { item: 'abc' }, headers: { h: key } }).record;
    expect(made).toMatchObject({ key, value: Uint8Array.of(0xff, 3), headers: { h: key }, partition: partitionForKey(key, 7) });
    const series = records.series({ key, count: 3, valueAt: (i) => ({ item: 'x'.repeat(i) }) }).record;
    expect('valueAt' in series && [0, 1, 2].map((i) => series.valueAt(i))).toEqual([0, 1, 2].map((i) => Uint8Array.of(0xff, i)));
    const texts = records.series({ key, count: 3, before: '{"item":"', textAt: (i) => 'x'.repeat(i), after: '"}' }).record;
    expect('valueAt' in texts && [0, 1, 2].map((i) => texts.valueAt(i))).toEqual([0, 1, 2].map((i) => Uint8Array.of(0xff, i)));
    expect(texts).not.toHaveProperty('parts');
  });

  it('of a series is its text between the common prefix and suffix, whole and in parts', async () => {
    const records = await makerOf(topic({ value: item }));
    const series = (content: { before?: string; after?: string }) => {
      const { record } = records.series({ key: 'k', count: 2, textAt: String, ...content });
      if (!('valueAt' in record)) throw new Error('it is a series');
      const { valueAt, parts } = record;
      return { values: [0, 1].map((i) => valueAt(i)), ...parts, own: [0, 1].map((i) => parts?.partAt(i)) };
    };
    expect(series({ before: '<', after: '>' })).toMatchObject({ values: ['<0>', '<1>'], before: '<', own: ['0', '1'], after: '>' });
    expect(series({})).toMatchObject({ values: ['0', '1'], before: '', own: ['0', '1'], after: '' });
  });

  it.each([
    ['bytes', () => Uint8Array.of(1), /textAt of a series returned bytes/],
    ['a number', () => 7, /value is 7/],
    ['a promise', () => Promise.reject(new Error('too late')), /value is .*Promise/],
  ])('of a series is refused where %s is its text', async (_, textAt, says) => {
    const records = await makerOf(topic({ value: item }));
    const { record } = records.series({ key: 'k', count: 1, before: '<', textAt: textAt as () => never });
    if (!('valueAt' in record)) throw new Error('it is a series');
    for (const make of [record.valueAt, record.parts?.partAt]) expect(() => make?.(0)).toThrow(says);
    expect(() => record.valueAt(0)).toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_RECORD' }));
  });

  it('is refused if its serializer returns a promise, or neither text nor bytes', async () => {
    for (const wrong of [Promise.resolve('x'), 7]) {
      const records = await makerOf(topic({ value: item, serialize: () => wrong as unknown as string }));
      expect(() => records({ key: null, value: { item: 'x' } })).toThrow(/value is .*neither text nor bytes.* synchronously/);
      expect(() => records({ key: null, value: { item: 'x' } })).toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_RECORD' }));
    }
  });

  it('may have a value with a cycle if its serializer can write it', async () => {
    const ring: { item: string; next?: object } = { item: 'x' };
    ring.next = ring;
    const records = await makerOf(topic({ value: z.custom<{ item: string }>(), serialize: () => '[{}]' }));
    expect(records({ key: null, value: ring }).record).toMatchObject({ value: '[{}]' });
  });

  it('is refused with a key or a header that is neither text nor bytes', async () => {
    const records = await makerOf(topic({ value: item }));
    const value = { item: 'x' };
    for (const key of [undefined, 7])
      expect(() => records({ key: key as unknown as string, value })).toThrow(/shelves\.records: .* key is /);
    expect(() => records({ key: null, value, headers: { h: 7 as unknown as string } })).toThrow(/shelves\.records: .* header is 7/);
  });

  it('counts under its topic, or under its kind', async () => {
    const records = await makerOf(topic({ value: item }));
    const value = { item: 'x' };
    expect([records({ key: null, value }).kind, records({ key: null, value, kind: 'small' }).kind]).toEqual(['records', 'small']);
  });

  it('is dropped if its serializer fails because of the signal', async () => {
    const stop = new AbortController();
    const open = (): never => {
      stop.abort(new Error('stopped'));
      throw new Error('the registry was left');
    };
    const pipelines = [{ name: 'shelves', topics: { records: topic({ value: item, serialize: { open } }) } }];
    await expect(openSerializers(pipelines, topicNames(), stop.signal)).rejects.toBe(stop.signal.reason);
  });

  it('reports which serializer can’t be opened', async () => {
    const open = (): never => {
      throw new Error('the registry is away');
    };
    const message = 'shelves.records: opening its serializer failed: the registry is away';
    await expect(makerOf(topic({ value: item, serialize: { open } }))).rejects.toMatchObject({ code: 'HEADGATE_USER_FUNCTION', message });
  });
});

describe('with validate', () => {
  const misfit = expect.objectContaining({
    code: 'HEADGATE_INVALID_RECORD',
    message: expect.stringMatching(/^shelves\.records: a record doesn't fit the schema of its topic: item: /) as string,
  }) as Error;

  it('values, keys and each record of a series are checked against their schemas', async () => {
    const records = await makerOf(topic({ value: item, key: z.string().min(1).nullable() }), { validate: true });
    expect(() => records({ key: null, value: of({ item: 7 }) })).toThrow(misfit);
    expect(() => records({ key: '', value: { item: 'x' } })).toThrow(/doesn't fit the schema of its topic: the key: /);
    expect(() => records.series({ key: Uint8Array.of(1), count: 0, textAt: String })).toThrow(/: the key: /);
    const valueAt = (i: number): { item: string } => of({ item: i < 2 ? 'x' : 7 });
    expect(() => records.series({ key: null, count: 3, valueAt })).toThrow(misfit);
    expect(records.series({ key: null, count: 2, valueAt }).count).toBe(2);
    const textAt = (i: number): string => JSON.stringify({ item: i < 2 ? 'x' : 7 });
    expect(() => records.series({ key: null, count: 3, textAt })).toThrow(misfit);
    expect(records.series({ key: null, count: 2, textAt }).count).toBe(2);
    const inParts = { key: null, before: '{"item":', textAt: (i: number): string => (i < 2 ? '"x"' : '7'), after: '}' };
    expect(() => records.series({ ...inParts, count: 3 })).toThrow(misfit);
    expect(records.series({ ...inParts, count: 2 }).count).toBe(2);
  });

  it('a topic without a key schema accepts any key', async () => {
    const records = await makerOf(topic({ value: item }), { validate: true });
    expect(records({ key: Uint8Array.of(0xff), value: { item: 'x' } }).count).toBe(1);
  });

  it('without validate, nothing is checked, and records of a series are created only when written', async () => {
    const records = await makerOf(topic({ value: item, key: z.string().min(1).nullable() }));
    expect(records({ key: '', value: of({ item: 7 }) }).record).toMatchObject({ value: '{"item":7}' });
    const notYet = (): never => {
      throw new Error('it is made before it is written');
    };
    expect([records.series({ key: '', count: 3, textAt: notYet }), records.series({ key: '', count: 3, valueAt: notYet })]).toHaveLength(2);
  });
});

test('each record of a request has its own ID, and gets the same one when it is created again', async () => {
  const records = await makerOf(topic({ value: item }));
  const value = { item: 'x' };
  const pending = [
    records({ key: 'a', value }),
    records({ key: 'a', value }),
    records({ key: 'a', value, id: 'own' }),
    records({ key: 'a', value }),
    records.series({ key: 'a', count: 2, textAt: () => '{}' }),
    records({ key: 'a', value, headers: { ce_id: 'given', other: '1' } }),
    records({ key: 'a', value, id: '' }),
  ];
  const made = logRecords(pending, 'shelves', 'shelves.requests-0-7', '2');
  const ids = made.map((record) => ('valueAt' in record ? 'series' : record.headers?.['ce_id']));
  const request = 'shelves.requests-0-7';
  expect(ids).toEqual([`${request}/2`, `${request}/2/1`, `${request}/own`, `${request}/2/2`, 'series', 'given', request]);
  expect(made[4]).toEqual(pending[4]?.record);
  expect(made[0]).toMatchObject({ headers: { ce_source: '/shelves', ce_type: 'headgate.shelves.records' } });
  expect(logRecords(pending, 'shelves', request, '2')).toEqual(made);
});

test.each([
  [{}, 'application/json'],
  [{ contentType: 'text/x' }, 'text/x'],
  [{ serialize: String }, 'application/octet-stream'],
  [{ serialize: String, contentType: 'application/avro' }, 'application/avro'],
])('a record of a topic with %o is said to be %s', async (more, contentType) => {
  const records = await makerOf(topic({ value: item, ...more }));
  const [record] = logRecords([records({ key: 'a', value: { item: 'x' } })], 'shelves', 'r', '1');
  expect(record?.headers?.['content-type']).toBe(contentType);
});

test.each([0, -1, 1.5, NaN])('a topic can’t have %s partitions', (partitions) => {
  expect(() => topic({ value: item, partitions })).toThrow(expect.objectContaining({ code: 'HEADGATE_DEFINITION' }));
});

test.each([
  ['nothing', () => undefined],
  ['a number', () => Promise.resolve(5)],
])('a serializer whose open gives %s is refused: its records would be JSON', async (_, open) => {
  const making = makerOf(topic({ value: item, serialize: { open: open as never } }));
  await expect(making).rejects.toThrow("shelves.records: opening its serializer failed: open doesn't return a function");
});

test('an open function that throws something other than an Error is reported', async () => {
  const making = makerOf(topic({ value: item, serialize: { open: () => Promise.reject(undefined as unknown as Error) } }));
  await expect(making).rejects.toMatchObject({ code: 'HEADGATE_USER_FUNCTION' });
});

test('a serializer that rejects every record doesn’t crash the process', async () => {
  const serialize = (() => Promise.reject(new Error('too late'))) as never;
  const records = await makerOf(topic({ value: item, serialize }));
  expect(() => records({ key: null, value: { item: 'x' } })).toThrow(expect.objectContaining({ code: 'HEADGATE_INVALID_RECORD' }));
});

test.each([-1, 1.5, NaN])('a series of %d records is refused instead of being empty', async (count) => {
  const records = await makerOf(topic({ value: item }));
  const invalid = expect.objectContaining({ code: 'HEADGATE_INVALID_RECORD' });
  expect(() => records.series({ key: 'k', count, textAt: String })).toThrow(invalid);
  expect(() => records.series({ key: 5 as never, count: 1, textAt: String })).toThrow(invalid);
});
