/**
 * Avro, Protobuf and JSON Schema for the values of topics, in the wire format of a schema registry.
 *
 * @packageDocumentation
 */
export { avroCodec } from './avro.ts';
export type { Codec } from './codec.ts';
export { decodedLog } from './decoded-log.ts';
export { protobufCodec } from './protobuf.ts';
export { jsonCodec, RegistryError, schemaRegistry, type SchemaRegistry, type SchemaRegistryOptions } from './registry.ts';
export { codecsOf, withRegistry } from './with-registry.ts';
