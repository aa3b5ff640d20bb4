import * as z from 'zod';
import { plainFileText } from '@headgate/pipeline/internal';
import type { Path } from './path.ts';
import type { Stream } from './streams.ts';

/** A file with a JSON Schema. It is read when the section is parsed. */
export const schemaFile = z
  .string()
  .min(1)
  .transform((file, context): z.ZodType => {
    const refuse = (message: string): z.ZodType => {
      context.addIssue({ code: 'custom', message });
      return z.NEVER;
    };
    const text = plainFileText(file);
    if (typeof text !== 'string') return refuse(text.flaw);
    try {
      return z.fromJSONSchema(JSON.parse(text) as z.core.JSONSchema.BaseSchema);
    } catch (error) {
      return refuse(
        error instanceof SyntaxError
          ? "isn't JSON. Write a JSON Schema into it."
          : `isn't a supported JSON Schema: ${error instanceof Error ? error.message : String(error)}`,
      );
    }
  })
  .meta({ format: 'path', examples: ['./issue.schema.json'] });

type JsonSchema = Readonly<Record<string, unknown>>;

/** JSON Schema of the records of all streams that write to a topic, as far as the section describes them. */
export function recordSchema(streams: readonly Stream[]): JsonSchema {
  const all = streams.map((stream) => (stream.schema === undefined ? knownOf(stream) : ownOf(stream.schema, stream)));
  return all.length === 1 && all[0] !== undefined ? all[0] : { anyOf: all };
}

/** The schema that the stream names, and the members that are added after a record was checked against it. */
function ownOf(schema: z.ZodType, { add = {} }: Stream): JsonSchema {
  const { $schema: _, ...own } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' }) as JsonSchema;
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
