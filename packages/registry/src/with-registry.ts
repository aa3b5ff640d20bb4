import { type Pipeline, PipelineError, type TopicDefinition } from '@headgate/pipeline';
import * as z from 'zod';
import { avroCodec } from './avro.ts';
import type { Codec } from './codec.ts';
import { protobufCodec } from './protobuf.ts';
import { type SchemaRegistry, jsonCodec } from './registry.ts';
import { type Derived, derivedAvro, derivedProtobuf } from './shape.ts';

/** A pipeline whose topics with a `format` are written in the registry's wire format. Throws as {@link codecsOf} does. */
export function withRegistry<Request>(pipeline: Pipeline<Request>, registry: SchemaRegistry): Pipeline<Request> {
  const codecs = codecsOf(pipeline);
  const topics = Object.entries(pipeline.topics).map(([name, definition]) => {
    const codec = codecs.get(name);
    return [name, codec === undefined ? definition : { ...definition, serialize: registry.serializer(codec) }] as const;
  });
  return { ...pipeline, topics: Object.fromEntries(topics) };
}

/**
 * The codec of each topic with a format other than JSON, by the topic's name within the pipeline. Throws a `PipelineError` (HEADGATE_DEFINITION) if a
 * schema can't be used.
 */
export function codecsOf({ name, topics }: Pick<Pipeline, 'name' | 'topics'>): ReadonlyMap<string, Codec> {
  const codecs = new Map<string, Codec>();
  for (const [topic, definition] of Object.entries(topics)) {
    try {
      const codec = definition.serialize === undefined ? codecOf(definition, nameOf(name, topic)) : undefined;
      if (codec !== undefined) codecs.set(topic, codec);
    } catch (cause) {
      const message = `${name}.${topic}: its schema can't be used: ${cause instanceof Error ? cause.message : String(cause)}`;
      throw new PipelineError({ code: 'HEADGATE_DEFINITION', message, pipeline: name, cause });
    }
  }
  return codecs;
}

/** `FollowersDeadLetters` for followers and dead-letters: the name of a record or message. */
function nameOf(...names: readonly string[]): string {
  const words = names.flatMap((name) => name.split('-'));
  return words.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('');
}

function codecOf({ format = 'json', schema, value }: TopicDefinition<unknown>, name: string): Codec | undefined {
  switch (format) {
    case 'json':
      return undefined;
    case 'json-schema':
      return jsonCodec(
        JSON.stringify({ $schema: DRAFT_7, title: name, ...(schema === undefined ? jsonSchemaOf(value) : Object(JSON.parse(schema))) }),
      );
    case 'avro':
      return schema === undefined ? packing(derivedAvro(jsonSchemaOf(value), name), avroCodec) : avroCodec(schema);
    case 'protobuf':
      return schema === undefined ? packing(derivedProtobuf(jsonSchemaOf(value), name), protobufCodec) : protobufCodec(schema);
  }
}

/** Registries recognize a JSON Schema by this member. */
const DRAFT_7 = 'http://json-schema.org/draft-07/schema#';

function jsonSchemaOf(value: TopicDefinition<unknown>['value']): object {
  return z.toJSONSchema(value, {
    target: 'draft-7',
    unrepresentable: 'any',
    override({ zodSchema, jsonSchema }) {
      // Records can have more members than their schema, unless its author forbids them.
      const { type, catchall } = zodSchema._zod.def as { readonly type: string; readonly catchall?: unknown };
      if (type === 'object' && catchall === undefined) delete jsonSchema.additionalProperties;
    },
  });
}

function packing({ schema, pack }: Derived, codecOf: (schema: string) => Codec): Codec {
  const codec = codecOf(schema);
  return { ...codec, flaw: (value) => codec.flaw(pack(value)), encode: (value) => codec.encode(pack(value)) };
}
