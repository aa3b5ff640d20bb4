import { startKafkaBroker } from './kafka-broker.ts';

/**
 * Returns the brokers in `KAFKA_BROKERS` (`host:port`, separated by commas) if it is set. Otherwise starts a broker. Throws
 * `KafkaBrokerError` if no broker can be started.
 */
export async function kafkaBrokersForTests(
  environment: NodeJS.ProcessEnv = process.env,
): Promise<{ readonly brokers: readonly string[] } & AsyncDisposable> {
  const named = (environment['KAFKA_BROKERS'] ?? '')
    .split(',')
    .map((address) => address.trim())
    .filter((address) => address !== '');
  if (named.length > 0) return { brokers: named, [Symbol.asyncDispose]: async () => undefined };
  return startKafkaBroker({ environment });
}
