import { createRequire } from 'node:module';
import { expect, it } from 'vitest';
import { describeTransactions, transactionProtocol } from '../requests/transactions.ts';
import { metadata } from '../requests/topics.ts';
import { Cluster, clusterOptions } from './cluster.ts';
import { failureText, verdictOf } from './driver-errors.ts';
import { brokerOf } from './error-kinds.ts';
import { type Broker, sendRequest } from './send-request.ts';

const require = createRequire(import.meta.url);
const { KafkaJSRequestTimeoutError } = require('kafkajs/src/errors') as {
  readonly KafkaJSRequestTimeoutError: new (message: string, details: object) => Error;
};

it.each([
  ['Metadata', (broker: Broker) => sendRequest(broker, metadata, { topics: [] })],
  ['ApiVersions', (broker: Broker) => sendRequest(broker, transactionProtocol, { transactionalId: 'lane' })],
  ['DescribeTransactions', (broker: Broker) => sendRequest(broker, describeTransactions, { transactionalId: 'lane' })],
] as const)('a request to a broker that hasn’t named its versions yet isn’t sent, and can be repeated: %s', async (_, send) => {
  const sent: string[] = [];
  const getConnection = (): Promise<never> => Promise.reject(new Error(`connected ${sent.push('it')} times`));
  const broker = { versions: null, connectionPool: { host: 'silent', port: 9092, getConnection } } as object as Broker;
  const error = await send(broker).catch((thrown: unknown) => thrown);
  expect(verdictOf(error)).toBe('passes');
  expect([failureText(error), brokerOf(error)]).toEqual(["silent:9092 hasn't responded yet", 'silent:9092']);
  expect(sent).toEqual([]);
});

it.each([
  ['known not to support the request', {}],
  ['known to support other versions only', { [metadata.key]: { minVersion: 20, maxVersion: 30 } }],
] as const)('a request fails for good if the broker is %s', async (_, versions) => {
  const broker = { versions } as object as Broker;
  const error = await sendRequest(broker, metadata, { topics: [] }).catch((thrown: unknown) => thrown);
  expect([verdictOf(error), error]).toEqual(['final', expect.objectContaining({ type: 'UNSUPPORTED_VERSION' })]);
});

it('if a broker accepts a connection but doesn’t respond, the next address is tried', async () => {
  const cluster = new Cluster(clusterOptions({ brokers: ['silent:9092', 'there:9092'], retry: { initialRetryTime: 1, retries: 2 } }));
  const asked: string[] = [];
  const build = cluster.connectionPoolBuilder.build.bind(cluster.connectionPoolBuilder);
  cluster.connectionPoolBuilder.build = async (address) => {
    const pool = await build(address);
    const { host } = pool as object as { readonly host: string };
    let isOpen = false;
    return Object.assign(pool, {
      isConnected: () => isOpen,
      async getConnection() {
        isOpen = true;
        return await Promise.resolve({ getSupportAuthenticationProtocol: () => false, authenticate: () => Promise.resolve() });
      },
      async send() {
        asked.push(host);
        if (host === 'silent') throw new KafkaJSRequestTimeoutError('Request ApiVersions timed out', { broker: 'silent:9092' });
        return await Promise.resolve({ apiVersions: [{ apiKey: metadata.key, minVersion: 0, maxVersion: 12 }] });
      },
      async destroy() {
        isOpen = false;
        await Promise.resolve();
      },
    });
  };
  await cluster.connect();
  expect(asked).toEqual(['silent', 'there']);
  expect(cluster.isConnected()).toBe(true);
});
