import { availability } from '../../availability.ts';
import { BrokerAddresses } from './broker-addresses.ts';
import { Cluster, type ClusterConfig } from './cluster.ts';

/** Settings of a cluster with these brokers, without TLS and authentication, which reports no outages. */
export function plainConfig(brokers: readonly string[], clientId = 'headgate'): ClusterConfig {
  return {
    clientId,
    ssl: false,
    authentication: undefined,
    addresses: new BrokerAddresses(brokers),
    availability: availability(() => undefined),
    signal: new AbortController().signal,
  };
}

export function plainCluster(brokers: readonly string[]): Cluster {
  return new Cluster(plainConfig(brokers));
}
