import type { TopicDefinition } from '@headgate/pipeline';
import avsc from 'avsc';

export interface ConfluentAvroOptions {
  readonly registry: string;
  readonly schema: avsc.Schema;
}

/** First byte of the wire format. The schema's ID follows in 4 bytes, big-endian. */
const MAGIC = 0;
const HEADER_BYTES = 5;
const JSON_TYPE = 'application/vnd.schemaregistry.v1+json';

/**
 * Serializes a topic's values as Avro in the frame of Confluent's serializers, with the subject `<topic>-value`. Registers the schema once, when
 * the topic is opened.
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

/** The schema's ID in a value, and its Avro. Throws a `TypeError` if the bytes have no frame. */
export function unframed(bytes: Uint8Array): { readonly id: number; readonly avro: Buffer } {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (buffer[0] !== MAGIC || buffer.length < HEADER_BYTES)
    throw new TypeError('These bytes are not in the wire format of a schema registry.');
  return { id: buffer.readInt32BE(1), avro: buffer.subarray(HEADER_BYTES) };
}
