import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { topicNames } from './names.ts';
import { topicSpecs } from './topics.ts';
import { type DeadLetterOptions, deadLetter } from './dead-letter.ts';

const MIN_RECORD_BYTES =
  topicSpecs([{ name: 'shelves', topics: {}, credentials: undefined, usualBytes: {} }], { lanes: 1, names: topicNames() }).find(
    ({ name }) => name.endsWith('dead-letters'),
  )?.minRecordBytes ?? NaN;

/** Repeats texts whose characters differ in size in UTF-8 and in JSON. `\uD83D` is half a surrogate pair. */
const long = fc
  .tuple(fc.constantFrom('9', '\u0001', '"', 'é', '漢', '\u{1F4DA}', '\uD83D', 'a\u{1F4DA}'), fc.integer({ min: 0, max: 200_000 }))
  .map(([text, times]) => text.repeat(times));
const options = fc.record({
  pipeline: fc.constant('shelves'),
  topic: fc.constant('shelves.dead-letters'),
  partition: fc.constant(1_000),
  key: long,
  id: long.map((key) => `shelves.requests-0-${Number.MAX_SAFE_INTEGER}/${key}`),
  content: fc.oneof(
    long.map((item) => ({ request: { item } })),
    long.map((text) => ({ jobText: JSON.stringify(text) })),
    long.map((record) => ({ record })),
  ),
  error: fc.record({ code: long, message: long, retryable: fc.boolean() }),
  at: fc.constant(Date.UTC(2030, 0)),
});

describe('a dead letter that is too large', () => {
  it('takes at most a third of the smallest possible record, whatever its content', () => {
    fc.assert(
      fc.property(options, (about) => {
        const record = deadLetter({ ...about, tooLarge: () => MIN_RECORD_BYTES });
        expect(bytesOf(record)).toBeLessThan(MIN_RECORD_BYTES / 3);
        expect(JSON.parse(record.value ?? '')).toMatchObject({ request: null, error: { retryable: about.error.retryable } });
      }),
    );
  });

  it('has its own ID, the same each time', () => {
    const ids = ['a', 'b', 'ba', '漢'].map((end) => idOf({ id: `shelves.requests-0-7/${'9'.repeat(9_000)}${end}` }));
    expect(new Set(ids).size).toBe(4);
    expect(ids[0]).toBe(idOf({ id: `shelves.requests-0-7/${'9'.repeat(9_000)}a` }));
    expect(ids[0]).toMatch(/^shelves\.requests-0-7\/9{79}…[\w-]{22}$/);
    expect(idOf({ id: 'shelves.requests-0-7/item-17' })).toBe('shelves.requests-0-7/item-17');
  });

  it('is cut between characters, by bytes', () => {
    const { key } = deadLetter({ ...base, key: `a${'\u{1F4DA}'.repeat(1_000)}`, tooLarge: () => MIN_RECORD_BYTES });
    expect(key).toBe(`a${'\u{1F4DA}'.repeat(124)}…`);
  });
});

it('a dead letter that fits keeps its key, ID and reason unchanged', () => {
  fc.assert(
    fc.property(options, (about) => {
      const { key, value, headers } = deadLetter({ ...about, tooLarge: () => undefined });
      expect(key).toBe(about.key);
      expect(headers?.['ce_id']).toBe(about.id);
      expect(JSON.parse(value ?? '')).toMatchObject({ error: about.error });
    }),
    { numRuns: 30 },
  );
});

const base = {
  pipeline: 'shelves',
  topic: 'shelves.dead-letters',
  partition: 0,
  key: 'k',
  id: 'shelves.requests-0-7/k',
  content: { request: null },
  error: new Error('no'),
  at: 0,
};

function idOf(about: Partial<DeadLetterOptions>): string | undefined {
  return deadLetter({ ...base, ...about, tooLarge: () => MIN_RECORD_BYTES }).headers?.['ce_id'];
}

function bytesOf({ key, value, headers }: ReturnType<typeof deadLetter>): number {
  return Buffer.byteLength([key, value, ...Object.entries(headers).flat()].join(''));
}
