import { Kafka, logLevel } from 'kafkajs';

/** A client as the driver makes it: silent, and quick to try again. */
export function quietKafka(brokers: readonly string[]): Kafka {
  return new Kafka({
    clientId: 'membership-test',
    brokers: [...brokers],
    logLevel: logLevel.NOTHING,
    connectionTimeout: 1_000,
    retry: { initialRetryTime: 50, maxRetryTime: 500, retries: 5 },
  });
}
