import { layOutCluster } from './cluster.ts';
import type { ClusterOptions } from './cluster.ts';
import { isPortFree } from './free-ports.ts';
import { type KafkaVersion, defaultVersion, kafkaClassPath } from './jars.ts';
import { findJava, withUtf8 } from './java.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';
import type { KafkaNode, OwnedNode } from './kafka-node.ts';
import { prepareStart } from './prepared-start.ts';
import type { ListenerProtocol } from './server-properties.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';
import type { TemporaryFolder } from './temporary-folder.ts';

/** Options of {@link startKafkaBroker}. */
export interface KafkaBrokerOptions {
  /** Release of Kafka. Default '4.3.1'. */
  readonly version?: KafkaVersion;
  /** Number of nodes, each of which is broker and controller. Default 1. */
  readonly nodes?: 1 | 3;
  /** Port of the first node's broker. Default: a free one. A port that is in use is an error. */
  readonly port?: number;
  /** Lines of `server.properties` that override the defaults for tests. Default: none. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Further listeners of each node by name, in capitals, each on its own port. Set their keys and users in `settings`. Default: none. */
  readonly listeners?: Readonly<Record<string, ListenerProtocol>>;
  /** Maximum milliseconds from the start of a node until it is ready. Default 60,000. */
  readonly readyWithinMs?: number;
  /** Environment with `PATH`, `JAVA_HOME`, `XDG_CACHE_HOME` and `HEADGATE_KAFKA_JARS`. Default: `process.env`. */
  readonly environment?: NodeJS.ProcessEnv;
  /** Called before Kafka is downloaded, if it isn't in the cache yet. */
  readonly onFetch?: () => void;
}

/** A running Kafka of one or three nodes. */
export interface KafkaBroker extends AsyncDisposable {
  /** `host:port` of each node. */
  readonly brokers: readonly string[];
  /** Each node, to kill, pause and start separately. */
  readonly nodes: readonly KafkaNode[];
  /** Temporary folder of the cluster: `node-<id>/server.log`, `node-<id>/data`. */
  readonly folder: string;
  /** Class path of Kafka's own tools, such as `org.apache.kafka.tools.consumer.ConsoleConsumer`. */
  readonly jars: string;
  /** Kills all nodes and removes the folder. Calling it twice is harmless. */
  readonly close: () => Promise<void>;
}

const attempts = 3;

/**
 * Starts Kafka (KRaft) on 127.0.0.1 in a temporary folder. Both are gone after `close`, and soon after this process ends, even if this process is
 * killed.
 *
 * If Kafka's jars are missing, downloads them with Maven into the cache. Resolves when each node's metadata lists all nodes. Throws
 * `KafkaBrokerError` if Kafka can't be downloaded or started.
 */
export async function startKafkaBroker(options: KafkaBrokerOptions = {}): Promise<KafkaBroker> {
  const { version = defaultVersion, nodes: size = 1, port, settings = {}, listeners = {}, readyWithinMs = 60_000 } = options;
  const environment = withUtf8(options.environment ?? process.env);
  const java = await findJava(environment);
  if (typeof java === 'string') throw new KafkaBrokerError(java);
  if (port !== undefined && !(await isPortFree(port))) {
    throw new KafkaBrokerError(`Port ${port} of 127.0.0.1 is in use, or this user may not use it. Choose another one.`);
  }
  const jars = await kafkaClassPath(environment, version, options.onFetch);
  const prepared = await prepareStart(java, jars, environment, readyWithinMs);
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

/** Starts a cluster. If another process takes a port between its check and its use, tries again with other ports. */
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
