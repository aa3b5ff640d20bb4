export { type KafkaTopicLogOptions, kafkaTopicLog } from './kafka-topic-log.ts';
export type { BearerToken } from './security/bearer-authentication.ts';
export type { KafkaSaslOptions } from './security/kafkajs-authentication.ts';
