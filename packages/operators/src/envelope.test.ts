import * as fc from 'fast-check';
import { from, toArray } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { cloudEventHeaders, envelope } from './envelope.ts';
import { OperatorError } from './operator-error.ts';

const event = { source: '/followers', type: 'com.example.page', id: 'crawl-1/7' };

describe('the headers of an event', () => {
  test('are those it needs', () => {
    const absent = { time: undefined, subject: undefined, dataSchema: undefined };
    expect(cloudEventHeaders({ ...event, ...absent })).toStrictEqual({
      ce_specversion: '1.0',
      ce_id: 'crawl-1/7',
      ce_source: '/followers',
      ce_type: 'com.example.page',
      'content-type': 'application/json',
    });
  });

  test('and those it has', () => {
    const time = '2026-01-31T12:00:00.123456789+01:00';
    const optional = { time, subject: '@alpha', dataSchema: 'https://example.com/page.json', dataContentType: 'application/cbor' };
    expect(cloudEventHeaders({ ...event, ...optional })).toMatchObject({
      ce_time: time,
      ce_subject: '@alpha',
      ce_dataschema: 'https://example.com/page.json',
      'content-type': 'application/cbor',
    });
    expect(cloudEventHeaders({ ...event, time: new Date(0) }).ce_time).toBe('1970-01-01T00:00:00.000Z');
  });

  test('carry the time as written, and no text that holds more than a time', () => {
    const ended = fc.tuple(fc.constantFrom('', '.5', '.123456789'), fc.constantFrom('Z', 'z', '+05:30', '-08:00'));
    const time = fc
      .tuple(fc.date({ noInvalidDate: true, min: new Date(0), max: new Date('9999-12-31') }), fc.constantFrom('T', 't'), ended)
      .map(([date, between, [fraction, zone]]) => date.toISOString().slice(0, 19).replace('T', between) + fraction + zone);
    fc.assert(
      fc.property(time, fc.string({ minLength: 1 }), (text, more) => {
        expect(cloudEventHeaders({ ...event, time: text }).ce_time).toBe(text);
        for (const longer of [more + text, text + more])
          expect(() => cloudEventHeaders({ ...event, time: longer })).toThrow('Option time of cloudEventHeaders must be a valid date');
      }),
    );
  });

  test.each([
    [{ id: '' }, 'Option id of cloudEventHeaders must not be empty.'],
    [{ source: '' }, 'Option source of cloudEventHeaders must not be empty.'],
    [{ type: '' }, 'Option type of cloudEventHeaders must not be empty.'],
    [{ subject: '' }, 'Option subject of cloudEventHeaders must not be empty.'],
    [{ time: 'yesterday' }, 'Option time of cloudEventHeaders must be a valid date or RFC 3339 text such as 2026-01-31T12:00:00Z.'],
    [{ time: new Date(Number.NaN) }, 'Option time of cloudEventHeaders must be a valid date or RFC 3339 text'],
  ])('are refused with %j', (flaw, message) => {
    expect(() => cloudEventHeaders({ ...event, ...(flaw as object) })).toThrow(message);
  });
});

test('a value is passed on untouched, beside its headers', () => {
  const values = [{ page: 1 }, { page: 2 }];
  from(values)
    .pipe(
      envelope(({ page }) => ({ ...event, id: `crawl-1/${page}` })),
      toArray(),
    )
    .subscribe((enveloped) => {
      expect(enveloped.map(({ headers }) => headers.ce_id)).toEqual(['crawl-1/1', 'crawl-1/2']);
      expect(enveloped.every(({ value }, index) => value === values[index])).toBe(true);
    });
  expect.assertions(2);
});

test('a value that makes no event fails the stream', () => {
  from([1])
    .pipe(envelope(() => ({ ...event, id: '' })))
    .subscribe({ error: (error: unknown) => expect(error).toBeInstanceOf(OperatorError) });
  expect.assertions(1);
});
