import { startKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { answeredError, ask } from '../client/ask.ts';
import { newCluster } from '../client/kafkajs-cluster.ts';
import { kafkajsSockets } from './kafkajs-sockets.fixture.ts';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const SAFELY = 2;

/** Starts a broker behind a proxy, whose transactions have protocol 2, or 1 as before Kafka 4. */
export async function brokerOfProtocol(protocol: number, more: Readonly<Record<string, string>> = {}): Promise<ProxiedBroker> {
  const proxied = await proxiedBroker(({ settings }) => startKafkaBroker({ settings: { ...settings, ...more } }));
  try {
    if (protocol === 1) await setTransactionVersion(proxied.brokers, 0);
    return proxied;
  } catch (error) {
    await proxied.close();
    throw error;
  }
}

/** Lowers the feature `transaction.version` of a cluster: below 2 its transactions have protocol 1. */
export async function setTransactionVersion(brokers: readonly string[], level: number): Promise<void> {
  const cluster = newCluster({ brokers: [...brokers], requestTimeout: 30_000, socketFactory: kafkajsSockets() });
  await cluster.connect();
  try {
    await cluster.refreshMetadata();
    const broker = await cluster.brokerPool.findConnectedBroker();
    const { errorCode } = await ask(broker, {
      apiName: 'UpdateFeatures',
      apiKey: 57,
      versions: [1],
      flexibleFrom: 0,
      // How long it may take; the feature, two bytes of its level, one of how it is lowered, and no tagged fields; it is done, not only tried.
      write: (body) =>
        body
          .int32(30_000)
          .array(['transaction.version'], (name) => body.string(name).int32((level << 16) | (SAFELY << 8)))
          .boolean(false)
          .tags(),
      read: (from) => ({ throttleMs: from.int32(), errorCode: from.int16() }),
    });
    if (errorCode !== 0) throw answeredError(errorCode);
    const protocol = level < 2 ? 1 : 2;
    while ((await broker.transactionProtocol()) !== protocol);
  } finally {
    await cluster.disconnect();
  }
}
