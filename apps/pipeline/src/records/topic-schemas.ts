import type { DefinitionInfo } from '@headgate/pipeline';
import * as z from 'zod';

export interface TopicSchema {
  /** Name of the topic without the prefix: `followers.ids`. */
  readonly topic: string;
  /** Purpose of the topic: `state` is only for the engine. */
  readonly kind: 'records' | 'requests' | 'dead-letters' | 'state';
  /** JSON Schema of the value. For state, it permits any value. */
  readonly value: object;
  readonly key: object;
  readonly contentType: string;
}

/** The schemas of an error's code and message. */
export const reason = {
  code: z.string().describe('Error code, such as HEADGATE_NOT_FOUND.'),
  message: z.string().describe('Error message.'),
};

export const deadLetter = z.looseObject({
  error: z.object({ ...reason, retryable: z.boolean().describe('Whether a replay can succeed without any change.') }),
  at: z.iso.datetime().describe('Time at which the job was dead-lettered.'),
  request: z.unknown().optional().describe('Job, or null if it was too large to keep or not text.'),
  requestBase64: z.string().optional().describe('Job that is not text, in base64.'),
  record: z.unknown().optional().describe('Record that could not be processed.'),
});

const KEY = { type: 'string' };
const JSON_TYPE = 'application/json';

/** The schemas of every topic of a pipeline. `target` is the version of JSON Schema. */
export function topicSchemas(
  { name, request, topics }: DefinitionInfo,
  target: 'draft-7' | 'draft-2020-12' = 'draft-2020-12',
): TopicSchema[] {
  const named = (topic: string): string => `${name}.${topic}`;
  return [
    {
      topic: named('requests'),
      kind: 'requests',
      value: valueJsonSchema(request, target, 'input'),
      key: KEY,
      contentType: JSON_TYPE,
    },
    ...Object.entries(topics).map(
      ([
        topic,
        { value, key, serialize, contentType = serialize === undefined ? JSON_TYPE : 'application/octet-stream' },
      ]): TopicSchema => ({
        topic: named(topic),
        kind: 'records',
        value: valueJsonSchema(value, target),
        key: key === undefined ? KEY : valueJsonSchema(key, target),
        contentType,
      }),
    ),
    {
      topic: named('dead-letters'),
      kind: 'dead-letters',
      value: valueJsonSchema(deadLetter, target),
      key: KEY,
      contentType: JSON_TYPE,
    },
    { topic: named('state'), kind: 'state', value: {}, key: KEY, contentType: JSON_TYPE },
  ];
}

/** `io`: describes a value before the schema parses it, or afterwards. */
export function valueJsonSchema(
  schema: z.ZodType,
  target: 'draft-7' | 'draft-2020-12' = 'draft-2020-12',
  io: 'input' | 'output' = 'output',
): object {
  return z.toJSONSchema(schema, {
    target,
    io,
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // Later versions can add properties, so a schema permits unknown ones, unless its author forbids them.
      const { type, catchall } = zodSchema._zod.def as { readonly type: string; readonly catchall?: unknown };
      if (type === 'object' && catchall === undefined) delete jsonSchema.additionalProperties;
      // zod adds the range of JavaScript's safe integers, which the author didn't ask for.
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
    },
  });
}
