import { expect, it } from 'vitest';
import * as z from 'zod';
import { parseOptions } from './parse-options.ts';
import { secret } from './secret.ts';

const schema = z.strictObject({
  count: z.int().min(1).max(5).default(5),
  plan: z.enum(['small', 'large']).default('small'),
  names: z.array(z.string().min(1)).min(1),
  pair: z.array(z.string().min(2)).length(2).optional(),
  entry: z
    .union([z.string().regex(/^@/, 'must begin with @.'), z.strictObject({ id: z.string() }), z.strictObject({ file: z.string() })])
    .optional(),
  by: z
    .discriminatedUnion('kind', [z.strictObject({ kind: z.literal('a'), x: z.int() }), z.strictObject({ kind: z.literal('b') })])
    .optional(),
  value: z.union([z.union([z.number(), z.strictObject({ at: z.string() })]), z.array(z.string())]).optional(),
  token: secret().optional(),
  on: z.boolean().optional(),
  url: z.url().optional(),
  since: z.iso.datetime().optional(),
  code: z.stringFormat('code', /^x/).optional(),
});

function told(given: Readonly<Record<string, unknown>>): readonly string[] {
  const { issues = [] } = parseOptions(schema, { names: ['a'], ...given });
  return issues.map(({ path, message, code }) => `${path.join('.')}: ${message}${code === undefined ? '' : ` (${code})`}`);
}

it.each([
  [{ count: 9 }, ['count: must be 5 or less.']],
  [{ count: 0 }, ['count: must be 1 or more.']],
  [{ count: 2.5 }, ['count: must be a whole number. (scalar-type)']],
  [{ count: '3' }, ['count: must be a number. (scalar-type)']],
  [{ count: null }, ['count: has no value. (no-value)']],
  [{ plan: 'huge' }, ["plan: isn't known. Write small or large. (choice)"]],
  [{ names: undefined }, ['names: is missing. (missing)']],
  [{ names: [] }, ['names: is empty. (empty)']],
  [{ names: 'a' }, ['names: must be a list. (type)']],
  [{ names: ['', 7] }, ['names.0: is empty. (empty)', 'names.1: must be text. (type)']],
  [{ pair: ['aa'] }, ['pair: must have 2 entries or more.']],
  [{ pair: ['aa', 'bb', 'cc'] }, ['pair: must have 2 entries or less.']],
  [{ pair: ['a', 'bb'] }, ['pair.0: must have 2 characters or more.']],
  [{ on: 'yes' }, ['on: must be true or false. (scalar-type)']],
  [{ url: 'a b' }, ["url: isn't an address. (unfit)"]],
  [{ since: 'May' }, ["since: isn't a date and time, such as 2026-01-31T12:00:00Z."]],
  [{ code: 'y' }, ["code: isn't valid. (unfit)"]],
  [{ other: 1, more: 2 }, ['other: unknown key. (unknown-key)', 'more: unknown key. (unknown-key)']],
  [{ entry: 'x' }, ['entry: must begin with @.']],
  [{ entry: { file: 'a', x: 1 } }, ['entry.x: unknown key. (unknown-key)']],
  [{ entry: { id: 7 } }, ['entry.id: must be text. (type)']],
  [{ entry: [] }, ['entry: must be text or a mapping of keys to values. (type)']],
  [{ value: 'a' }, ['value: must be a number or a mapping of keys to values or a list. (scalar-type)']],
  [{ value: [7] }, ['value.0: must be text. (type)']],
  [{ value: {} }, ['value.at: is missing. (missing)']],
  [{ by: { kind: 'c' } }, ["by.kind: isn't known. Write a or b. (choice)"]],
  [{ by: { kind: 'a' } }, ['by.x: is missing. (missing)']],
  [{ token: 'two\nlines' }, ['token: has a line break or another character that no header can carry. Copy it again.']],
  [{ token: 7 }, ['token: must be text, a function that returns it, or { file }.']],
])('%j', (given, messages) => {
  expect(told(given)).toEqual(messages);
});

it('accepts valid options', () => {
  expect(parseOptions(schema, { names: ['a'], by: { kind: 'b' } })).toEqual({
    value: { count: 5, plan: 'small', names: ['a'], by: { kind: 'b' } },
  });
});

it.each<[string, z.ZodType]>([
  [
    'throws',
    z.string().transform((value): string => {
      throw new Error(value);
    }),
  ],
  ['gives a promise', z.string().refine(() => Promise.resolve(true))],
])('tells of a schema that %s, without the value', (_, broken) => {
  const { issues = [] } = parseOptions(z.strictObject({ broken }), { broken: 'never-shown' });
  expect(issues).toEqual([{ path: [], message: expect.stringMatching(/^can't be checked: its schema threw \$?\w+ \(at .*\)\. Fix it: /) }]);
  expect(JSON.stringify(issues)).not.toContain('never-shown');
});

it('keeps the message of a refinement, and its path', () => {
  const refined = z.strictObject({ a: z.string().optional(), b: z.string().optional() }).superRefine((_, context) => {
    context.addIssue({ code: 'custom', path: ['a'], message: 'is missing.', params: { code: 'missing' } });
    context.addIssue({ code: 'custom', path: ['b'], message: 'is empty.' });
  });
  expect(parseOptions(refined, {}).issues).toEqual([
    { path: ['a'], message: 'is missing.', code: 'missing' },
    { path: ['b'], message: 'is empty.' },
  ]);
});

it('reports an invalid key as a key', () => {
  const keys = z.record(z.string().regex(/^[a-z]$/), z.number());
  expect(parseOptions(keys, { A: 1 }).issues).toEqual([{ path: ['A'], message: "The key isn't valid." }]);
});
