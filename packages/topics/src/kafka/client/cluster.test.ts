import { expect, it } from 'vitest';
import { Cluster, clusterOptions } from './cluster.ts';
import { metadata } from '../requests/topics.ts';
import { verdictOf } from './driver-errors.ts';
import type { KafkajsBroker } from './kafkajs-internals.ts';
import { type Broker, sendRequest } from './send-request.ts';

it('a TypeError that kafkajs throws over a dropped connection passes, though no stack names kafkajs, as in a bundle', async () => {
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  try {
    const cluster = new Cluster(clusterOptions({ brokers: ['nowhere:9092'] }));
    const isRequested = Promise.withResolvers<void>();
    const [here, there] = [1, 2].map((nodeId) => ({ nodeId, host: `broker-${nodeId}`, port: 9092, rack: '' }));
    const seedBroker = Object.assign({} as KafkajsBroker, {
      connectionPool: here,
      isConnected: () => true,
      disconnect: () => Promise.resolve(),
      metadata: () => {
        isRequested.resolve();
        return Promise.resolve({ brokers: [here, there], topicMetadata: [] });
      },
    });
    Object.assign(cluster.brokerPool, { seedBroker, brokers: { 1: seedBroker } });
    const refreshing = cluster.refreshMetadata().catch((error: unknown) => error);
    await isRequested.promise;
    while (cluster.brokerPool.metadata === null) await Promise.resolve();
    await cluster.disconnect();
    const error = await refreshing;
    expect(error).toBeInstanceOf(TypeError);
    expect(verdictOf(error)).toBe('passes');
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
});

it('a TypeError of a token provider passes when a connection authenticates again, because fetch throws it if the provider is down', async () => {
  const fault = new TypeError('fetch failed');
  const connection = { isAuthenticated: () => false, authenticate: () => Promise.reject(fault) };
  const connectionPool = { getConnection: () => Promise.resolve(connection) };
  const broker = { versions: { [metadata.key]: { maxVersion: 11 } }, connectionPool } as object as Broker;
  const error = await sendRequest(broker, metadata, { topics: [] }).catch((thrown: unknown) => thrown);
  expect(error).toBe(fault);
  expect(verdictOf(error)).toBe('passes');
});
