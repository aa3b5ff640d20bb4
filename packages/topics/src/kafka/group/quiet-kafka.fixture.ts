import { Kafka, logLevel } from 'kafkajs';
import { Cluster } from '../client/cluster.ts';
import { plainConfig } from '../client/plain-cluster.fixture.ts';

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
  return new Cluster(plainConfig(brokers, 'membership-test'));
}
