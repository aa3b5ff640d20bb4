import { expect, test } from 'vitest';
import * as z from 'zod';
import { parseExact } from '../exact-json.ts';
import { jsonVerdict } from './json-body.ts';

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
