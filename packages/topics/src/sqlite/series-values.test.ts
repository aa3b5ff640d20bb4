import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packed, unpacked } from './series-values.ts';

const text = fc.string({ unit: 'binary', maxLength: 6 });
const texts = fc
  .tuple(text, fc.array(text, { minLength: 2, maxLength: 30 }), text)
  .map(([before, between, after]) => between.map((middle) => before + middle + after));

describe('texts of a series', () => {
  it('are restored unchanged', () => {
    fc.assert(
      fc.property(texts, (given) => {
        const values = packed(given);
        expect(values !== undefined || given.join('').includes('\0')).toBe(true);
        expect(values === undefined ? given : unpacked(values)).toEqual(given);
      }),
      { numRuns: 500 },
    );
  });

  it('store their common prefix and suffix once', () => {
    const given = ['1', '22', ''].map((id) => `{"user":"@a","id":"${id}"}`);
    expect(packed(given)).toEqual({ count: 3, prefix: '{"user":"@a","id":"', middles: '["1","22",""]', suffix: '"}' });
    expect(packed(['aa', 'aaa', 'a'])).toEqual({ count: 3, prefix: 'a', middles: '["a","aa",""]', suffix: '' });
    expect(packed(['same', 'same'])).toEqual({ count: 2, prefix: 'same', middles: '["",""]', suffix: '' });
    expect(packed(['ba', 'a'])).toEqual({ count: 2, prefix: '', middles: '["b",""]', suffix: 'a' });
  });

  it('are never split within a character, whose half can’t be stored as text', () => {
    expect(packed(['\u{1f600}', '\u{1f601}'])).toEqual({ count: 2, prefix: '', middles: '["\u{1f600}","\u{1f601}"]', suffix: '' });
    expect(packed(['a\u{1f600}', 'b\u{1fa00}'])?.suffix).toBe('');
    fc.assert(
      fc.property(texts, (given) => {
        const values = packed(given);
        expect([values?.prefix, values?.suffix].every((part = '') => part.isWellFormed())).toBe(true);
      }),
      { numRuns: 500 },
    );
  });

  it('aren’t packed if there are fewer than two, or if some contain a NUL', () => {
    expect(packed([])).toBeUndefined();
    expect(packed(['one'])).toBeUndefined();
    expect(packed(['a\0b', 'c'])).toBeUndefined();
    expect(packed(['\0a', '\0b'])).toMatchObject({ prefix: '\0', middles: '["a","b"]' });
  });
});
