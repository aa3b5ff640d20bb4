/**
 * A real Kafka cluster of one or three nodes on this machine, for tests.
 *
 * @packageDocumentation
 */
export { isPortFree } from './free-ports.ts';
export { startKafkaBroker } from './kafka-broker.ts';
export type { KafkaBroker, KafkaBrokerOptions } from './kafka-broker.ts';
export type { KafkaVersion } from './jars.ts';
export { KafkaBrokerError } from './kafka-broker-error.ts';
export type { KafkaNode } from './kafka-node.ts';
export type { ListenerProtocol } from './server-properties.ts';
export { whyNoKafkaBroker } from './why-no-kafka-broker.ts';
export { type SchemaRegistryServer, startSchemaRegistry, whyNoSchemaRegistry } from './schema-registry.ts';
export { registryClientJars } from './registry-clients.ts';
