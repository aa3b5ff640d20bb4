import type { TopicDefinition } from '@headgate/pipeline';
import avsc from 'avsc';

/** Where a registry is, and what its schema is. */
export interface ConfluentAvroOptions {
  /** The registry's URL. */
  readonly registry: string;
  readonly schema: avsc.Schema;
}

/** Begins every value in the wire format: a byte of 0, then the schema's id as 4 bytes, big-endian. */
const MAGIC = 0;
const HEADER_BYTES = 5;
const JSON_TYPE = 'application/vnd.schemaregistry.v1+json';

/**
 * Serializes a topic's values as Avro, framed as Confluent's serializers frame them, under the subject `<topic>-value`. The registry is asked
 * for the schema's id when the topic is opened, once.
 */
export function confluentAvro<Value>({ registry, schema }: ConfluentAvroOptions): NonNullable<TopicDefinition<Value>['serialize']> {
  return {
    async open({ topic, signal }) {
      const type = avsc.Type.forSchema(schema);
      const response = await fetch(new URL(`/subjects/${topic}-value/versions`, registry), {
        method: 'POST',
        headers: { 'content-type': JSON_TYPE, accept: JSON_TYPE },
        body: JSON.stringify({ schema: JSON.stringify(schema) }),
        signal,
      }).catch((cause: unknown) => {
        throw new Error(`no schema registry answers at ${registry}. Is it up?`, { cause });
      });
      const answer = (await response.json()) as { readonly id?: number; readonly message?: string };
      if (answer.id === undefined) throw new Error(`the registry answered ${response.status}: ${answer.message ?? 'no id'}`);
      const header = Buffer.alloc(HEADER_BYTES, MAGIC);
      header.writeInt32BE(answer.id, 1);
      return (value) => Buffer.concat([header, type.toBuffer(value)]);
    },
  };
}

/** The schema's id of a value, and its Avro. Throws a `TypeError` for bytes that are not framed. */
export function unframed(bytes: Uint8Array): { readonly id: number; readonly avro: Buffer } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer[0] !== MAGIC || buffer.length < HEADER_BYTES)
    throw new TypeError('These bytes are not in the wire format of a schema registry.');
  return { id: buffer.readInt32BE(1), avro: buffer.subarray(HEADER_BYTES) };
}
