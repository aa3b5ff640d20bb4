export { type KafkaTopicLogOptions, kafkaTopicLog } from './kafka-topic-log.ts';
