import { Kafka, type KafkaConfig, logLevel } from 'kafkajs';
import { type Cluster, newCluster, newConsumer } from '../client/cluster.ts';
import { kafkajsSockets } from '../faults/kafkajs-sockets.fixture.ts';

const RETRY = { initialRetryTime: 50, maxRetryTime: 500, retries: 5 };

/** A client as the driver makes it: silent, and quick to try again. */
export function quietKafka(brokers: readonly string[]): Kafka {
  return new Kafka({
    clientId: 'membership-test',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    retry: RETRY,
  });
}

/** A connection of the driver's own. */
export function quietCluster(brokers: readonly string[]): Cluster {
  return newCluster(configOf(brokers));
}

/** Consumers on such connections. */
export function quietConsumers(brokers: readonly string[]): Pick<Kafka, 'consumer'> {
  return { consumer: (options) => newConsumer(configOf(brokers), options) };
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
