import { startKafkaBroker } from '@headgate/broker';
import { plainCluster } from '../client/plain-cluster.fixture.ts';
import type { Request } from '../requests/request.ts';
import { refusalsOf } from '../requests/partition-answers.ts';
import { transactionProtocol } from '../requests/transactions.ts';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const SAFELY = 2;

/** Starts a broker behind a proxy. Its transactions use protocol 2, or protocol 1 as before Kafka 4. */
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

/** Sets the feature `transaction.version` of a cluster. Below 2, its transactions use protocol 1. */
export async function setTransactionVersion(brokers: readonly string[], level: number): Promise<void> {
  const cluster = plainCluster(brokers);
  try {
    await cluster.ask(updateTransactionVersion, { level });
    const protocol = level < 2 ? 1 : 2;
    while ((await cluster.ask(transactionProtocol, { transactionalId: 'any' })) !== protocol);
  } finally {
    cluster.close();
  }
}

const updateTransactionVersion: Request<{ readonly level: number }, void> = {
  api: 'UpdateFeatures',
  key: 57,
  version: 1,
  isFlexible: true,
  to: 'any',
  needs: () => [],
  // The timeout; the feature with two bytes of its level, one byte for a safe downgrade, and no tagged fields; `validateOnly`.
  write: (body, { level }) =>
    body
      .int32(30_000)
      .array(['transaction.version'], (name) => body.string(name).int32((level << 16) | (SAFELY << 8)))
      .boolean(false)
      .tags(),
  read: (from) => ({ throttleMs: from.int32(), refusals: refusalsOf(from.int16()), answer: undefined }),
};
