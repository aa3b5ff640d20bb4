import { expect, test } from 'vitest';
import * as z from 'zod';
import { exactId } from './exact-id.ts';
import { jsonVerdict } from './http/json-body.ts';

const schema = z.object({ ids: z.array(exactId()) });
const answer = (body: string) => ({ status: 200, headers: {}, body: Buffer.from(body) });

test('ids are text with every digit, however the service spells them', () => {
  const ids = jsonVerdict(answer('{"ids":[7,"8",9007199254740993,"18446744073709551615",18446744073709551615,"a-b"]}'), schema);
  expect(ids).toEqual({
    kind: 'ok',
    value: { ids: ['7', '8', '9007199254740993', '18446744073709551615', '18446744073709551615', 'a-b'] },
  });
});

test.each(['1.5', 'null', '""', 'true', '{}'])('%s is no id', (id) => {
  expect(jsonVerdict(answer(`{"ids":[${id}]}`), schema)).toMatchObject({
    kind: 'schema-mismatch',
    where: expect.stringContaining('ids.0: '),
  });
});

test('an id that was rounded is refused', () => {
  expect(jsonVerdict(answer('{"ids":[9007199254740993]}'), schema, JSON.parse)).toMatchObject({ kind: 'schema-mismatch' });
});
