/**
 * The log of topics on a Kafka cluster.
 *
 * @packageDocumentation
 */
export { type KafkaTopicLogOptions, kafkaTopicLog } from './kafka-topic-log.ts';
export type { BearerToken } from './security/bearer-authentication.ts';
export type { KafkaPasswordOptions, KafkaSaslOptions } from './security/authentication.ts';
