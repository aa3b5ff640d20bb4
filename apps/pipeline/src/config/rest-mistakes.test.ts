import { readFileSync } from 'node:fs';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { load } from './config-folder.fixture.ts';
import { ConfigError } from './config-error.ts';

const RUNS = process.env['HEADGATE_TORTURE'] === '1' ? 5_000 : 120;

const EXAMPLES = readFileSync(new URL('rest-sections.fixture.yaml', import.meta.url), 'utf8');
const ENV = Object.fromEntries(Array.from(EXAMPLES.matchAll(/\$\{(\w+)\}/g), ([, name = '']) => [name, `sEcr3t-${name}-0123456789`]));
const FILES = { 'databases.txt': 'd1\n', 'users.txt': 'beta\n', 'authors.txt': 'A B\n', 'isbns.txt': '1\n2\n' };

test('the twelve example sections are valid', async () => {
  const { config, warnings } = await load(EXAMPLES, { env: ENV, files: FILES });
  expect([config.pipelines.length, warnings]).toEqual([12, []]);
  const requests = config.pipelines.flatMap((pipeline) => [...pipeline.listed()].map(({ value }) => JSON.parse(value) as unknown));
  expect(requests).toContainEqual({ stream: 'ids', user: 'beta' });
  expect(requests).toContainEqual({ stream: 'rows', db: 'd1' });
});

type Path = readonly (string | number)[];

function places(value: unknown, at: Path = []): Path[] {
  if (typeof value !== 'object' || value === null) return [at];
  return [at, ...Object.entries(value).flatMap(([key, one]) => places(one, [...at, Array.isArray(value) ? Number(key) : key]))];
}

const WRONG = [
  true,
  false,
  0,
  -1,
  1.5,
  1e21,
  '',
  ' ',
  'x',
  '$',
  '$.',
  '$.a[',
  '$..a',
  '$[*]',
  '{',
  '}',
  '{nobody}',
  '{since}',
  '{since:hours}',
  '${UNSET}',
];
const WRONGER = [
  [],
  {},
  [[]],
  [{}],
  [null],
  { a: 1 },
  { each: 'nobody', with: { id: '$.id' } },
  { query: 'a', header: 'b' },
  { file: 'none.txt' },
];

const mutation = fc.record({
  section: fc.nat(),
  place: fc.nat(),
  how: fc.oneof(
    fc.constant({ kind: 'delete' } as const),
    fc.record({ kind: fc.constant('rename' as const), to: fc.constantFrom('drop', 'swap', 'add', 'other', '__proto__') }),
    fc.record({ kind: fc.constant('put' as const), value: fc.constantFrom<unknown>(null, ...WRONG, ...WRONGER) }),
    fc.record({
      kind: fc.constant('break' as const),
      at: fc.nat(),
      text: fc.constantFrom('[', '{', '}', "'", '$', '?', '\u0000', '*', '..'),
    }),
    fc.record({
      kind: fc.constant('add' as const),
      key: fc.constantFrom('every', 'schema', 'none', 'pages', 'batch', 'form', 'limits', 'to'),
      value: fc.constantFrom<unknown>('x', 5, true, {}, []),
    }),
  ),
});

type How = (typeof mutation extends fc.Arbitrary<infer Value> ? Value : never)['how'];

function mutated(value: unknown, [part, ...rest]: Path, how: How): unknown {
  if (typeof value !== 'object' || value === null || part === undefined) return 'value' in how ? how.value : value;
  const entries = Object.entries(value as Readonly<Record<string, unknown>>);
  const found = entries.flatMap(([key, one]): [string, unknown][] => {
    if (key !== String(part)) return [[key, one]];
    if (rest.length > 0) return [[key, mutated(one, rest, how)]];
    switch (how.kind) {
      case 'delete':
        return [];
      case 'rename':
        return [[renamed(key, how.to), one]];
      case 'put':
        return [[key, how.value]];
      case 'break': {
        const text = typeof one === 'string' ? one : 'x';
        const i = how.at % (text.length + 1);
        return [[key, `${text.slice(0, i)}${how.text}${text.slice(i)}`]];
      }
      case 'add':
        return [
          [key, one],
          [how.key, how.value],
        ];
    }
  });
  return Array.isArray(value) ? found.map(([, one]) => one) : Object.fromEntries(found);
}

function renamed(key: string, to: string): string {
  if (to === 'drop') return key.slice(1);
  if (to === 'swap') return key.split('').toReversed().join('');
  return to === 'add' ? `${key}s` : to;
}

test('an invalid section is refused with the position and fix of each problem, and no secret', { timeout: 3_600_000 }, async () => {
  const sections = Object.entries(parse(EXAMPLES) as Readonly<Record<string, unknown>>);
  await fc.assert(
    fc.asyncProperty(fc.array(mutation, { minLength: 1, maxLength: 3 }), async (mutations) => {
      const [name, given] = sections[(mutations[0]?.section ?? 0) % sections.length] ?? ['', {}];
      const section = mutations.reduce<unknown>((value, { place, how }) => {
        const all = places(value).filter((path) => path.length > 0 && path[0] !== 'use');
        return mutated(value, all[place % all.length] ?? [], how);
      }, given);
      const yaml = stringify({ [name]: section });
      expect(await flaws(yaml), yaml).toEqual([]);
    }),
    { numRuns: RUNS },
  );
});

/** Flaws in the refusal of a configuration: an unexpected error, a secret in a message, or a message without a place or a full sentence. */
async function flaws(yaml: string): Promise<readonly string[]> {
  try {
    const { config } = await load(yaml, { env: ENV, files: FILES });
    // Throws if an accepted section lists an invalid job.
    for (const pipeline of config.pipelines) Array.from(pipeline.listed());
    return [];
  } catch (error) {
    if (!(error instanceof ConfigError)) return [`it threw ${String(error)}`];
    const secret = error.message.includes('sEcr3t-') ? ['a secret'] : [];
    return error.problems.reduce((found, { line, column, message }) => {
      const isPlaced = (line !== undefined && column !== undefined) || /^and \d+ more/.test(message);
      const isSaid = /^\S.*[.?]$/s.test(message) && !/Error\b|\bundefined\b|\[object|\n\s+at |its schema threw/.test(message);
      return isPlaced && isSaid ? found : [...found, message];
    }, secret);
  }
}

test.each(['hub*x', 'toString', '12:30:45', 'Hub', 'headgate', 'a'.repeat(51)])(
  'a section %s that no pipeline can be called is a problem with a place',
  async (name) => {
    const yaml = `"${name}": { use: rest, baseUrl: "https://api.example.com", credentials: [{ name: a }], limit: { requests: 1, window: 1s }, streams: { s: { get: / } } }`;
    const error: unknown = await load(yaml).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as ConfigError).problems).toEqual([
      expect.objectContaining({ line: 1, column: 1, message: expect.stringContaining("isn't a valid pipeline name. Write up to 50") }),
    ]);
  },
);
