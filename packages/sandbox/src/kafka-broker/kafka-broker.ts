import { layOutCluster } from './cluster.ts';
import type { ClusterOptions } from './cluster.ts';
import { isPortFree } from './free-ports.ts';
import { kafkaClassPath } from './jars.ts';
import { findJava } from './java.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';
import type { KafkaNode, OwnedNode } from './kafka-node.ts';
import { prepareStart } from './prepared-start.ts';
import type { ListenerProtocol } from './server-properties.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';
import type { TemporaryFolder } from './temporary-folder.ts';

/** Options of {@link startKafkaBroker}. */
export interface KafkaBrokerOptions {
  /** How many nodes, each broker and controller; default 1. */
  readonly nodes?: 1 | 3;
  /** Port of the first node's broker; default a free one. A port that is taken is an error. */
  readonly port?: number;
  /** Lines of `server.properties` that override the ones for tests. Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further listeners of each node by name, in capitals, on their own ports; `settings` has their keys and users. Default: none. */
  readonly listeners?: Readonly<Record<string, ListenerProtocol>>;
  /** Milliseconds until all nodes are ready, without fetching jars; default 60,000. */
  readonly readyWithinMs?: number;
  /** Gives `PATH`, `JAVA_HOME`, `XDG_CACHE_HOME` and `HEADGATE_KAFKA_JARS`; default `process.env`. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Called before Kafka is downloaded, which takes about a minute and happens once. */
  readonly onFetch?: () => void;
}

/** A running Kafka of one or three nodes. */
export interface KafkaBroker extends AsyncDisposable {
  /** `host:port` of each node. */
  readonly brokers: readonly string[];
  /** Each node, to kill, pause and start separately. */
  readonly nodes: readonly KafkaNode[];
  /** Its temporary folder: `node-<id>/server.log`, `node-<id>/data`. */
  readonly folder: string;
  /** Class path of Kafka's own tools, such as `org.apache.kafka.tools.consumer.ConsoleConsumer`. */
  readonly jars: string;
  /** Kills all nodes and removes the folder. Calling it twice is harmless. */
  readonly close: () => Promise<void>;
}

const attempts = 3;

/**
 * Starts Kafka (KRaft) on 127.0.0.1 in a temporary folder that is removed with it. It ends with this process, even if that is killed.
 *
 * The first time, it downloads Kafka with Maven into the cache. Resolves when each node's metadata lists all nodes. Throws
 * `KafkaBrokerError`.
 */
export async function startKafkaBroker(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
  const { nodes: size = 1, port, settings = {}, listeners = {}, readyWithinMs = 60_000, environment = process.env } = options;
  const java = await findJava(environment);
  if (typeof java === 'string') throw new KafkaBrokerError(java);
  if (port !== undefined && !(await isPortFree(port))) {
    throw new KafkaBrokerError(`Port ${port} of 127.0.0.1 is in use, or this user may not use it. Choose another one.`);
  }
  const jars = await kafkaClassPath(environment, options.onFetch);
  const prepared = await prepareStart({ java, classPath: jars, environment, readyWithinMs });
  const { folder, nodes } = await startCluster({ ...prepared, size, port, settings, listeners, environment, readyWithinMs });

  let closed: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    closed ??= endCluster(nodes, folder);
    await closed;
  };
  return { brokers: nodes.map(({ address }) => address), nodes, folder: folder.path, jars, close, [Symbol.asyncDispose]: close };
}

interface Cluster {
  readonly folder: TemporaryFolder;
  readonly nodes: readonly OwnedNode[];
}

/** Another process may take a port between our check and our use of it; then try other ports. */
async function startCluster(options: Omit<ClusterOptions, 'folder'>, attempt = 1): Promise<Cluster> {
  const folder = await makeTemporaryFolder(options.environment);
  let nodes: readonly OwnedNode[] = [];
  try {
    nodes = await layOutCluster({ ...options, folder: folder.path });
    await Promise.all(nodes.map(async (node) => node.start()));
    return { folder, nodes };
  } catch (error) {
    await endCluster(nodes, folder);
    if (attempt < attempts && error instanceof Error && error.message.includes('Address already in use')) {
      return startCluster(options, attempt + 1);
    }
    throw error;
  }
}

async function endCluster(nodes: readonly OwnedNode[], folder: TemporaryFolder): Promise<void> {
  await Promise.all(nodes.map(async (node) => node.kill()));
  await folder.remove();
}
