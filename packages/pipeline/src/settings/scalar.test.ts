import { expect, it } from 'vitest';
import * as z from 'zod';
import { duration } from './duration.ts';
import { parseOptions } from './parse-options.ts';
import { OF_FILE, type Scalar, scalar } from './scalar.ts';
import { secret } from './secret.ts';

const folder = '/etc/headgate';

/**
 * Converts a value to one of a configuration file. Text that starts with ' stands for quoted text, and text that starts with $ for text
 * from a variable.
 */
function written(value: unknown): unknown {
  if (typeof value === 'string') {
    const text = value.replace(/^['$]/, '');
    const isBare = !value.startsWith("'") && /^(?:-?\d+(?:\.\d+)?|true|false)$/.test(text);
    const bare = text === 'true' || (text === 'false' ? false : Number(text));
    return scalar({ text, folder, hasVariable: value.startsWith('$'), ...(isBare && { bare }) });
  }
  if (Array.isArray(value)) return value.map(written);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, written(one)]));
}

function parsed(schema: z.ZodType, value: unknown): unknown {
  const found = parseOptions(z.strictObject({ a: schema }), { [OF_FILE]: true, a: written(value) });
  return found.issues === undefined ? found.value.a : found.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
}

const path = (): z.ZodType<string> => z.string().meta({ format: 'path' });

const numberOrText = z.union([z.number(), z.string()]);

it.each<[string, z.ZodType, unknown, unknown]>([
  ['text keeps its digits', z.string(), '9007199254740993123', '9007199254740993123'],
  ['a number', z.number(), '1.5', 1.5],
  ['a number in quotes is none', z.number(), "'1.5", ['a: must be a number.']],
  ['a number of a variable', z.int(), '$-3', -3],
  ['text of a variable', z.string(), '$3', '3'],
  ['a truth value', z.boolean(), 'true', true],
  ['a truth value of a variable', z.boolean().default(true), '$false', false],
  ['a word', z.enum(['1', 'true']), 'true', 'true'],
  ['a constant of a variable', z.literal([1, 2]), '$2', 2],
  ['a constant in quotes is none', z.literal(false), "'false", ["a: isn't known. Write false."]],
  ['text before a number', z.union([z.string(), z.number()]), '5', '5'],
  ['a number before text', numberOrText, '5', 5],
  ['text in quotes beside a number', numberOrText, "'5", '5'],
  ['text of a variable beside a number', numberOrText, '$5', '5'],
  ['text of a variable beside a truth value', z.union([z.boolean(), z.string()]), '$true', 'true'],
  ['text of a variable beside both', z.union([z.null(), numberOrText.transform((value) => [value])]), '$5', ['5']],
  ['a constant of a variable beside text', z.union([z.literal(false), z.string()]), '$false', false],
  ['leading zeros beside a number', numberOrText, '007', '007'],
  ['leading zeros', z.number(), '007', 7],
  ['a fraction beside text', numberOrText, '1.0', 1],
  ['a duration is text', duration(), '30', ["a: isn't a duration. Write 30s or 30ms."]],
  ['a duration beside numbers', z.union([z.number(), duration()]), '15m', 900_000],
  ['anything', z.record(z.string(), z.unknown()), { a: ['1', { b: 'true' }, 'x', '$1', '01'] }, { a: [1, { b: true }, 'x', '1', '01'] }],
  ['what a function makes text of', z.preprocess((value) => `${String(value)}!`, z.string()), '007', '007!'],
  [
    'all digits of what a function makes text of',
    z.preprocess((value) => `${String(value)}!`, z.string()),
    '9007199254740993',
    '9007199254740993!',
  ],
  ['what a function makes a list of', z.preprocess((value) => [value].flat(), z.array(z.unknown())), ['1'], [1]],
  ['a list without entries', z.array(z.string()), null, []],
  ['a tuple', z.tuple([z.string(), z.number()], z.string()), ['1', '2', '3'], ['1', 2, '3']],
  ['a path', path().optional(), './a.txt', '/etc/headgate/a.txt'],
  ['no path, which stays empty', path(), "' ", ' '],
  ['PEM text in place of a path', path(), "'\n-----BEGIN X", '\n-----BEGIN X'],
  [
    'the alternative that a variable chooses',
    z.discriminatedUnion('by', [
      z.strictObject({ by: z.literal('file'), file: path() }),
      z.strictObject({ by: z.literal('text'), file: z.string() }),
    ]),
    { by: '$file', file: 'x' },
    { by: 'file', file: '/etc/headgate/x' },
  ],
  [
    'an alternative that is chosen, and has more unknown keys than another',
    z.discriminatedUnion('by', [
      z.strictObject({ by: z.literal('a'), token: z.string() }),
      z.strictObject({ by: z.literal('b'), user: z.string(), password: z.string() }),
    ]),
    { by: 'a', token: 't', user: 'u', password: 'p' },
    ['a.user: unknown key.', 'a.password: unknown key.'],
  ],
  [
    'no alternative that fits',
    z.union([z.array(z.string()), z.strictObject({ id: z.string() })]),
    { id: '1', x: '2' },
    ['a.x: unknown key.'],
  ],
  [
    'a part of each',
    z.intersection(z.object({ a: path() }), z.object({ b: z.number() })),
    { a: 'x', b: '2' },
    { a: '/etc/headgate/x', b: 2 },
  ],
  ['a path within both', z.intersection(z.object({ a: path() }), z.object({ a: path() })), { a: 'x' }, { a: '/etc/headgate/x' }],
  ['a mapping in place of text', z.string(), { a: '1' }, ['a: must be text.']],
  ['text in place of a mapping', z.strictObject({}), 'x', ['a: must be a mapping of keys to values.']],
])('%s', (_, schema, value, result) => {
  expect(parsed(schema, value)).toEqual(result);
});

it('a schema that contains itself', () => {
  const node = z.strictObject({
    file: path(),
    get below() {
      return z.array(node).optional();
    },
  });
  const tree: z.ZodType = z.lazy(() => z.union([z.null(), z.number(), z.array(tree)]));
  expect(parsed(node, { file: '1', below: [{ file: '2' }] })).toEqual({ file: '/etc/headgate/1', below: [{ file: '/etc/headgate/2' }] });
  expect(parsed(tree, ['1', ['$2', null]])).toEqual([1, [2, null]]);
});

it('records how schemas read a value', () => {
  const text = z.string();
  const options = z.strictObject({
    text,
    token: secret().exactOptional(),
    hidden: text.optional().meta({ writeOnly: true }),
    piped: z.string().pipe(secret() as z.ZodType<unknown, string>),
    file: path(),
  });
  const given = written({ text: 't', token: 's', hidden: 's', piped: 's', file: 'f', other: 'x' }) as Record<string, Scalar>;
  parseOptions(options, { [OF_FILE]: true, ...given });
  expect(Object.entries(given).map(([key, { isSecret, isPath }]) => [key, isSecret, isPath])).toEqual([
    ['text', false, false],
    ['token', true, false],
    ['hidden', true, false],
    ['piped', true, false],
    ['file', false, true],
    ['other', false, false],
  ]);
});

it('a secret is read as written', () => {
  const token = parsed(secret(), '0123') as () => string;
  expect(token()).toBe('0123');
});
