import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { type Cluster, newCluster } from '../client/cluster.ts';
import { kafkajsSockets } from '../faults/kafkajs-sockets.fixture.ts';

const RETRY = { initialRetryTime: 50, maxRetryTime: 500, retries: 5 };

export function quietKafka(brokers: readonly string[]): Kafka {
  return new Kafka({
    clientId: 'membership-test',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    retry: RETRY,
  });
}

export function quietCluster(brokers: readonly string[]): Cluster {
  return newCluster(configOf(brokers));
}

function configOf(brokers: readonly string[]): KafkaConfig {
  return {
    clientId: 'membership-test',
    brokers: [...brokers],
    connectionTimeout: 1_000,
    requestTimeout: 15_000,
    retry: RETRY,
    socketFactory: kafkajsSockets(),
  };
}
