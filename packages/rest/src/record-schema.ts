import { basename } from 'node:path';
import type { TopicFormat } from '@headgate/pipeline';
import { plainFileText } from '@headgate/pipeline/internal';
import { avroCodec, protobufCodec } from '@headgate/registry';
import * as z from 'zod';
import { kindOf } from './json-value.ts';
import type { Path } from './path.ts';
import type { Stream } from './streams.ts';

/** What a stream's records must fit: a JSON Schema, an Avro schema or a .proto file. */
export interface Contract {
  readonly format: Exclude<TopicFormat, 'json'>;
  /** The schema as text. */
  readonly text: string;
  /** The first place at which a record doesn't fit, such as `$.user.id: expected a string, got null`. Undefined if it fits. */
  flaw(record: unknown): string | undefined;
  /** The contract as JSON Schema, as far as that can describe it. */
  readonly jsonSchema: JsonSchema;
}

/** A file with a contract. It is read when the section is parsed. */
export const schemaFile = z
  .string()
  .min(1)
  .transform((file, context): Contract => {
    const refuse = (message: string): Contract => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const text = plainFileText(file);
    if (typeof text !== 'string') return refuse(text.flaw);
    const language = file.endsWith('.avsc') ? 'Avro schema' : file.endsWith('.proto') ? '.proto file' : 'JSON Schema';
    try {
      if (language === 'JSON Schema') return jsonContract(text);
      const codec = language === 'Avro schema' ? avroCodec(text) : protobufCodec(text);
      const format = language === 'Avro schema' ? 'avro' : 'protobuf';
      return { format, text, flaw: (record) => codec.flaw(record), jsonSchema: { description: `Fits the ${language} ${basename(file)}.` } };
    } catch (error) {
      return refuse(
        error instanceof SyntaxError
          ? `isn't JSON. Write ${language === 'Avro schema' ? 'an Avro schema' : 'a JSON Schema'} into it.`
          : `isn't a supported ${language}: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  })
  .meta({ format: 'path', examples: ['./issue.schema.json', './issue.avsc', './issue.proto'] });

function jsonContract(text: string): Contract {
  const schema = z.fromJSONSchema(JSON.parse(text) as z.core.JSONSchema.BaseSchema);
  const override = ({ jsonSchema: one }: { jsonSchema: z.core.JSONSchema.BaseSchema }): void => {
    if (one.maximum === Number.MAX_SAFE_INTEGER) delete one.maximum;
    if (one.minimum === Number.MIN_SAFE_INTEGER) delete one.minimum;
  };
  const { $schema: _, ...jsonSchema } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', override }) as JsonSchema;
  return {
    format: 'json-schema',
    text,
    jsonSchema,
    flaw(record) {
      // `parseUntouched` keeps long numbers as objects. The schema needs plain numbers.
      const value: unknown = JSON.parse(JSON.stringify(record));
      // An issue with a note is an integer beyond 2^53, which zod refuses and JSON Schema permits.
      const issue = schema.safeParse(value).error?.issues.find((one) => !('note' in one));
      if (issue === undefined) return undefined;
      const place = placeIn(issue.path);
      if (issue.code !== 'invalid_type') return `${place}: it doesn't fit (${issue.code})`;
      const got = issue.path.reduce<unknown>((of, name) => Object(of)[name], value);
      return `${place}: expected ${withArticle(issue.expected)}, got ${kindOf(got)}`;
    },
  };
}

function placeIn(path: readonly PropertyKey[]): string {
  return ['$', ...path.map((part) => (typeof part === 'number' ? `[${part}]` : `.${String(part)}`))].join('');
}

function withArticle(word: string): string {
  return `${/^[aeiou]/.test(word) ? 'an' : 'a'} ${word}`;
}

type JsonSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of the records of all streams that write to a topic, as far as the section describes them. */
export function recordSchema(streams: readonly Stream[]): JsonSchema {
  const all = streams.map((stream) => (stream.schema === undefined ? knownOf(stream) : ownOf(stream.schema.jsonSchema, stream)));
  return all.length === 1 && all[0] !== undefined ? all[0] : { anyOf: all };
}

/** The schema that the stream names, and the members that are added after a record was checked against it. */
function ownOf(own: JsonSchema, { add = {} }: Stream): JsonSchema {
  const added = Object.keys(add).map((name) => [name, ADDED]);
  return added.length === 0 ? own : { ...own, properties: { ...Object(own['properties']), ...Object.fromEntries(added) } };
}

const ADDED = { description: 'Added by Headgate.' };

function knownOf({ name, method, path, keys, since, add = {}, records }: Stream): JsonSchema {
  const properties = Object.fromEntries([
    ...keys.flatMap((one) => memberOf(one, 'key')),
    ...(since === undefined ? [] : memberOf(since.from, 'time of the change')),
    ...Object.keys(add).map((member) => [member, ADDED] as const),
  ]);
  return {
    // A record without its key or time isn't written, and `add` makes an object of any record.
    ...(Object.keys(properties).length > 0 && { type: 'object', properties }),
    description: `Record of ${method} ${path?.text}${records === undefined ? '' : `, at ${records.text}`}, as the service sends it. To describe its other members, name a JSON Schema: schema: ./${name}.schema.json`,
  };
}

/** The member of a record in which a path begins. None for a record that is a list. */
function memberOf({ text }: Path, what: string): readonly (readonly [name: string, schema: JsonSchema])[] {
  const [, name] = /^\$\.([A-Za-z_]\w*)/.exec(text) ?? [];
  return name === undefined ? [] : [[name, { description: `Contains the ${what}: ${text}.` }]];
}
