import { type PipelineDefinition, type TopicMap, definePipeline, secret } from '@headgate/pipeline';
import { expect, onTestFinished, test } from 'vitest';
import * as z from 'zod';
import { load, problemsOf, refusal } from './config-folder.fixture.ts';
import { configReference } from './config-reference.fixture.ts';
import { configJsonSchema } from './config-schema.ts';

/** A secret that doesn't look like one, because it is short and made of words. Only the schema says that it is a secret. */
const SECRET = 'Bearer hunter2';

type Definition = PipelineDefinition<z.ZodObject, z.ZodString, TopicMap, { name: string }>;

function own(options: z.ZodObject, more: Partial<Definition> = {}) {
  const open = (): never => {
    throw new Error('is not opened here');
  };
  return definePipeline({ name: 'own', options, request: z.string(), topics: {}, keyOf: String, open, ...more });
}

/** The files of a module whose default export is `defined`. */
function moduleOf(defined: unknown): Readonly<Record<string, string>> {
  const name = 'ownPipelineOfTheTest';
  Object.assign(globalThis, { [name]: defined });
  onTestFinished(() => void Reflect.deleteProperty(globalThis, name));
  return { 'own.mjs': `export default globalThis.${name};\n` };
}

/** The schema of a mapping that can contain another mapping of the same kind. */
function tree(): z.ZodObject {
  const node = z.strictObject({
    token: secret(),
    name: z.string(),
    get child() {
      return node.optional();
    },
  });
  return node;
}

test.each<[string, z.ZodObject, string]>([
  ['a schema with an id', z.strictObject({ auth: z.strictObject({ token: secret() }).meta({ id: 'Auth' }) }), `auth: { token: ${SECRET} }`],
  ['a schema that contains itself', tree(), `token: good, name: a, child: { token: ${SECRET}, name: b }`],
  ['a tuple', z.strictObject({ pair: z.tuple([z.string(), secret()]) }), `pair: [a, ${SECRET}]`],
  [
    'a schema that begins as text',
    z.strictObject({
      token: z
        .string()
        .transform((text) => text.trim())
        .pipe(secret() as z.ZodType<unknown, string>),
    }),
    `token: ${SECRET}`,
  ],
  ['the lines of a file', z.strictObject({ keys: z.array(secret()) }), 'keys: [{ file: keys.txt }]'],
])('an invalid secret within %s is not shown', async (_, options, keys) => {
  const files = { ...moduleOf(own(options)), 'keys.txt': `good\n${SECRET}\n` };
  const yaml = `own: { use: ./own.mjs, ${keys} }\n`;
  const place = `1:${yaml.search(/Bearer|keys\.txt/) + 1}`;
  const { problems, warnings } = await refusal(yaml, { files });
  expect(problems.map(({ line, column, message }) => `${line}:${column} ${message}`)).toEqual([
    expect.stringMatching(new RegExp(`^${place} .*starts with the word Bearer`)),
  ]);
  expect(JSON.stringify([problems, warnings])).not.toContain('hunter2');
});

test('text and paths are recognized in tuples and in schemas that have IDs or contain themselves', async () => {
  const path = () => z.string().meta({ format: 'path' });
  const options = z.strictObject({
    pair: z.tuple([z.string(), path()]),
    held: z.strictObject({ file: path() }).meta({ id: 'Held' }),
    tree: tree(),
  });
  const section =
    'own: { use: ./own.mjs, pair: [007, a.txt], held: { file: b.txt }, tree: { token: "${T}", name: 1, child: { token: "${T}", name: 2 } } }\n';
  const { config, warnings } = await load(section, { files: moduleOf(own(options)), env: { T: 'good' } });
  expect(warnings).toEqual([]);
  expect(config.pipelines[0]?.options).toMatchObject({
    pair: ['007', expect.stringMatching(/^\/.*\/a\.txt$/)],
    held: { file: expect.stringMatching(/^\/.*\/b\.txt$/) },
    tree: { name: '1', child: { name: '2' } },
  });
});

test('numbers of any kind come from variables', async () => {
  const options = z.strictObject({ share: z.number(), offset: z.number(), count: z.int() });
  const section = 'own: { use: ./own.mjs, share: "${SHARE}", offset: "${OFFSET}", count: "${COUNT}" }\n';
  const env = { SHARE: '0.25', OFFSET: '-3', COUNT: '7' };
  const { config } = await load(section, { files: moduleOf(own(options)), env });
  expect(config.pipelines[0]?.options).toMatchObject({ share: 0.25, offset: -3, count: 7 });
});

test('references of a JSON Schema resolve within it, and the reference page ends despite recursion', () => {
  const { definition } = own(
    z.strictObject({ tree: tree(), any: z.json(), auth: z.strictObject({ token: secret() }).meta({ id: 'Auth' }) }),
  );
  const schema = JSON.parse(JSON.stringify(configJsonSchema([definition], ['own']))) as object;
  const refs = [...JSON.stringify(schema).matchAll(/"\$ref":"#\/([^"]+)"/g)].map(([, pointer = '']) => pointer);
  expect(refs.length).toBeGreaterThan(3);
  for (const pointer of refs)
    expect(
      pointer.split('/').reduce((at: object | undefined, key) => at?.[key as never], schema),
      pointer,
    ).toBeTypeOf('object');
  const page = configReference([definition]);
  expect(page).toContain('| `tree.token` | secret | **required** |');
  expect(page).toContain('| `tree.child` | mapping |');
  expect(page).toContain('| `auth.token` | secret | **required** |');
  expect(page).not.toContain('tree.child.child');
});

test.each([
  ['nothing that can be made text', Object.create(null), '[Object: null prototype] {}.'],
  ['an error without text', Object.assign(new Error('x'), { message: 5 }), 'Error: 5'],
])('a module that throws %s is reported like others', async (_, thrown, words) => {
  const files = { 'own.mjs': 'throw globalThis.ownPipelineOfTheTest;\n' };
  moduleOf(thrown);
  const [problem] = await problemsOf('own: { use: ./own.mjs }\n', { files });
  expect(problem).toContain(`can't be loaded`);
  expect(problem).toContain(words);
});

test('a definition whose function throws, or returns no credentials, is reported at its section', async () => {
  const warnings = (): never => {
    throw new Error('out of luck');
  };
  const told = async (more: Partial<Definition>) =>
    await problemsOf('own: { use: ./own.mjs }\n', { files: moduleOf(own(z.strictObject({}), more)) });
  expect(await told({ warnings })).toEqual([expect.stringMatching(/^1:6 own: warnings of pipeline own threw Error: out of luck \(at .*/)]);
  expect(await told({ credentials: () => [] })).toEqual(['1:6 own: has no credentials. Add at least one.']);
});

test('a secret that a schema repeats in its message is not shown', async () => {
  const repeats = z.string().superRefine((text, context) => context.addIssue({ code: 'custom', message: `has ${text} in it.` }));
  const files = moduleOf(own(z.strictObject({ token: repeats.meta({ writeOnly: true }) })));
  expect(await problemsOf('own: { use: ./own.mjs, token: correct horse }\n', { files })).toEqual([
    '1:31 own.token: has (hidden: it may be a secret) in it.',
  ]);
});

test('one module under several names is several pipelines; an invalid name is refused', async () => {
  const files = moduleOf(own(z.strictObject({ shop: z.string() })));
  const { config } = await load('own-a: { use: ./own.mjs, shop: berlin }\nown-b: { use: ./own.mjs, shop: paris }\n', { files });
  expect(config.pipelines.map(({ name, options }) => [name, options])).toMatchObject([
    ['own-a', { shop: 'berlin' }],
    ['own-b', { shop: 'paris' }],
  ]);
  expect(await problemsOf('Own: { use: ./own.mjs, shop: berlin }\n', { files })).toEqual([
    expect.stringMatching(/^1:1 .*isn't a valid pipeline name\./),
  ]);
});
