import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { parseJob, jobContent, jobText } from './job.ts';

describe('jobText', () => {
  it.each(['{"shelfId":12345678901234567890}', '{ "a": 1.10 }', '[1,"]]]{{"]', '"text"'])('keeps %s as it is', (value) => {
    expect(jobText(value)).toBe(value);
  });

  it('converts text that isn’t JSON, or is nested too deeply, to a string', () => {
    expect(JSON.parse(jobText('not json'))).toBe('not json');
    const deep = '['.repeat(20_000) + ']'.repeat(20_000);
    expect(JSON.parse(jobText(deep))).toBe(deep);
    expect(jobText(null)).toBe('null');
  });

  it('truncates text that is too large, however much it would grow as JSON', () => {
    const text = jobText('\u0001'.repeat(100_000_000));
    expect(text.length).toBeLessThan(10_000);
    expect(JSON.parse(text)).toBe(`${'\u0001'.repeat(500)}…`);
  });
});

it('keeps bytes, and truncates them if there are too many', () => {
  const content = (bytes: Uint8Array): unknown => jobContent({ offset: 0, key: null, value: null, bytes });
  expect(content(Uint8Array.of(0, 0xff))).toEqual({ jobBytes: Uint8Array.of(0, 0xff) });
  expect(content(new Uint8Array(100_000_000))).toEqual({ jobBytes: new Uint8Array(500) });
});

describe('parseJob', () => {
  const schema = z.strictObject({ shelf: z.string().refine((shelf) => shelf !== 'burnt', 'Burnt down.'), page: z.int().default(1) });

  it('reads a request, with its defaults', () => {
    expect(parseJob(schema, '{"shelf":"a"}')).toEqual({ shelf: 'a', page: 1 });
  });

  it.each([
    [null, 'The job has no value. It must be a JSON object.'],
    ['{', /^The job isn't JSON: /],
    ['{"shelf":7,"page":"x"}', /^The job is malformed: shelf must be text; page must be a number\.$/],
    ['{"shelf":"burnt"}', /^The job is malformed: shelf: Burnt down\.$/],
    ['"text"', /^The job is malformed: it must be a mapping of keys to values\.$/],
  ])('says of %s why it is none', (value, message) => {
    expect(() => parseJob(schema, value)).toThrow(message);
    expect(() => parseJob(schema, value)).toThrow(expect.objectContaining({ code: 'HEADGATE_MALFORMED_REQUEST', retryable: false }));
  });
});
