import { startKafkaBroker } from './kafka-broker.ts';

/**
 * The brokers that `KAFKA_BROKERS` names (`host:port`, several with commas) when it is set; otherwise one started here. Throws
 * `KafkaBrokerError`.
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
