/** The security protocol of a listener. */
export type ListenerProtocol = 'PLAINTEXT' | 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL';

/** A listener for clients, in addition to the one without security. */
export interface Listener {
  readonly protocol: ListenerProtocol;
  readonly port: number;
}

export interface NodePlace {
  readonly id: number;
  /** Port for clients and other brokers, on 127.0.0.1. */
  readonly port: number;
  /** Port for the controllers, on 127.0.0.1. */
  readonly controllerPort: number;
  /** Listeners for clients by name, capitals only; default none. */
  readonly listeners?: Readonly<Record<string, Listener>>;
}

/**
 * Returns the text of `server.properties` for a node that is broker and controller. The node uses few resources, quickly notices that
 * another node is down, and doesn't create topics automatically. `nodes`: all nodes, including this one. `dataFolder`: folder of the node's
 * partitions.
 */
export function serverProperties(
  node: NodePlace,
  nodes: readonly NodePlace[],
  dataFolder: string,
  settings: Readonly<Record<string, string>>,
): string {
  const replicas = nodes.length;
  const leastInSync = Math.max(1, replicas - 1);
  const alone = replicas === 1;
  const more = Object.entries(node.listeners ?? {});
  const own = [`BROKER://127.0.0.1:${node.port}`, ...more.map(([name, { port }]) => `${name}://127.0.0.1:${port}`)];
  const protocols = ['BROKER:PLAINTEXT', 'CONTROLLER:PLAINTEXT', ...more.map(([name, { protocol }]) => `${name}:${protocol}`)];
  const properties: Record<string, string | number | boolean> = {
    'process.roles': 'broker,controller',
    'node.id': node.id,
    listeners: [...own, `CONTROLLER://127.0.0.1:${node.controllerPort}`].join(','),
    'advertised.listeners': own.join(','),
    'inter.broker.listener.name': 'BROKER',
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': protocols.join(','),
    'controller.quorum.voters': nodes.map(({ id, controllerPort }) => `${id}@127.0.0.1:${controllerPort}`).join(','),
    'log.dirs': dataFolder,
    'broker.session.timeout.ms': alone ? 1500 : 3000,
    'broker.heartbeat.interval.ms': alone ? 400 : 500,
    // With 0, an idle controller writes nothing, so an idle node takes less CPU time.
    'metadata.max.idle.interval.ms': 0,
    'auto.create.topics.enable': false,
    'default.replication.factor': replicas,
    'min.insync.replicas': leastInSync,
    'offsets.topic.num.partitions': 1,
    'offsets.topic.replication.factor': replicas,
    'transaction.state.log.num.partitions': 1,
    'transaction.state.log.replication.factor': replicas,
    'transaction.state.log.min.isr': leastInSync,
    'transaction.abort.timed.out.transaction.cleanup.interval.ms': 500,
    'group.initial.rebalance.delay.ms': 0,
    'group.min.session.timeout.ms': 1000,
    'num.network.threads': 1,
    'num.io.threads': 2,
    'num.recovery.threads.per.data.dir': 1,
    'background.threads': 2,
    'log.cleaner.dedupe.buffer.size': 2_097_152,
    ...settings,
  };
  return Object.entries(properties)
    .map(([name, value]) => `${name}=${value}\n`)
    .join('');
}
