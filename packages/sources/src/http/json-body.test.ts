import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseExact } from '../exact-json.ts';
import { jsonBody, jsonVerdict } from './json-body.ts';

const answer = (body: string) => ({ status: 200, headers: {}, body: Buffer.from(body) });
const schema = z.object({ items: z.array(z.object({ id: z.int(), kind: z.enum(['a', 'b']) })) });

test('a body that fits is ok, with what the schema makes of it', () => {
  const verdict = jsonVerdict(answer('{"items":[{"id":1,"kind":"a","more":true}]}'), schema);
  expect(verdict).toEqual({ kind: 'ok', value: { items: [{ id: 1, kind: 'a' }] } });
  const wide = z.object({ id: z.bigint() });
  const exact = (text: string): unknown => ({ id: BigInt(String((parseExact(text) as { id: unknown }).id)) });
  expect(jsonVerdict(answer('{"id":12345678901234567890}'), wide, exact)).toEqual({ kind: 'ok', value: { id: 12345678901234567890n } });
});

test.each([
  ['null', 'expected object, got null'],
  ['{"items":7}', 'items: expected array, got a number'],
  ['{"items":[{"id":"secret","kind":"a"}]}', 'items.0.id: expected number, got text'],
  ['{"items":[{"id":1,"kind":"secret"}]}', 'items.0.kind: unexpected value (invalid_value), got text'],
])('a body that does not fit is reported by its place, and nothing of it is quoted: %s', (body, where) => {
  expect(jsonVerdict(answer(body), schema)).toEqual({ kind: 'schema-mismatch', where });
});

test.each(['<html>', '', '{"items":'])('a body that is no JSON may be better next time: %s', (body) => {
  expect(jsonVerdict(answer(body), schema)).toMatchObject({ kind: 'transient' });
});

const CITY = '{"city":"Köln"}';
const utf16be = (text: string): Buffer => Buffer.from(`\uFEFF${text}`, 'utf16le').swap16();
test.each<[string, string | undefined, Buffer]>([
  ['UTF-8 with a byte order mark', undefined, Buffer.from(`\uFEFF${CITY}`)],
  ['UTF-8 that is labelled Latin-1', 'application/json; charset=iso-8859-1', Buffer.from(CITY)],
  ['Latin-1 by its label', 'application/json;charset="ISO-8859-1"', Buffer.from(CITY, 'latin1')],
  ['Windows-1252 by its label', 'application/json; charset=windows-1252', Buffer.from(CITY, 'latin1')],
  ['UTF-16 by its byte order mark', undefined, Buffer.from(`\uFEFF${CITY}`, 'utf16le')],
  ['UTF-16, most significant byte first', 'application/json; charset=utf-16', utf16be(CITY)],
  ['the characters before it that keep a browser from running it', undefined, Buffer.from(`)]}'\n${CITY}`)],
])('reads %s', (_, type, body) => {
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  expect(jsonBody({ status: 200, headers, body }, JSON.parse)).toEqual({ kind: 'json', value: { city: 'Köln' } });
});

test.each([
  ['Latin-1 without a label', 'application/json'],
  ['an unknown charset', 'application/json; charset=x-none'],
])('guesses no charset: %s', (_, type) => {
  const body = jsonBody({ status: 200, headers: { 'content-type': type }, body: Buffer.from(CITY, 'latin1') }, JSON.parse);
  expect(body).toMatchObject({ kind: 'broken', reason: expect.stringContaining('UTF-8') });
});
