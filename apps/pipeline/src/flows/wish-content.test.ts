import { describe, expect, it } from 'vitest';
import { wishText } from './wish-content.ts';

describe('wishText', () => {
  it.each(['{"userId":12345678901234567890}', '{ "a": 1.10 }', '[1,"]]]{{"]', '"text"'])('keeps %s as it is', (value) => {
    expect(wishText(value)).toBe(value);
  });

  it('makes a string of what is no JSON, or deeper than can be written again', () => {
    expect(JSON.parse(wishText('not json'))).toBe('not json');
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(JSON.parse(wishText(deep))).toBe(deep);
    expect(wishText(null)).toBe('null');
  });

  it('keeps the beginning of what is too large, however much it would grow as JSON', () => {
    const text = wishText('\u0001'.repeat(100_000_000));
    expect(text.length).toBeLessThan(10_000);
    expect(JSON.parse(text)).toBe(`${'\u0001'.repeat(500)}…`);
  });
});
