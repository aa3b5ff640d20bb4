export { type KafkaTopicLogOptions, kafkaTopicLog } from './kafka-topic-log.ts';
export type { AvailabilityChange } from './connection/availability.ts';
