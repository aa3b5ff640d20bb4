import { randomBytes } from 'node:crypto';
import { copyFile, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { freePorts } from './free-ports.ts';
import { createKafkaNode } from './kafka-node.ts';
import type { OwnedNode } from './kafka-node.ts';
import { knownNodes } from './metadata-request.ts';
import { serverProperties } from './server-properties.ts';
import type { Listener, ListenerProtocol } from './server-properties.ts';

export interface ClusterOptions {
  readonly size: number;
  /** Port of the first node's broker; default a free one. */
  readonly port?: number | undefined;
  readonly settings: Readonly<Record<string, string>>;
  /** Further listeners of each node, by name; default none. */
  readonly listeners?: Readonly<Record<string, ListenerProtocol>>;
  readonly folder: string;
  /** Path of a `bootstrap.checkpoint` file, as `kafka-storage format` writes it. Every new node gets a copy. */
  readonly bootstrapCheckpoint: string;
  /** Java and its arguments up to the settings file. */
  readonly command: readonly string[];
  readonly environment: NodeJS.ProcessEnv;
  readonly readyWithinMs: number;
}

/** Creates the folders and settings of new nodes that know each other. Starts none of them. */
export async function layOutCluster(options: ClusterOptions): Promise<readonly OwnedNode[]> {
  const { size, settings, folder, bootstrapCheckpoint, command, environment, readyWithinMs } = options;
  const protocols = Object.entries(options.listeners ?? {});
  const free = (await freePorts((2 + protocols.length) * size)).values();
  const nextPort = (): number => free.next().value ?? 0;
  const places = Array.from({ length: size }, (_, index) => ({
    id: index + 1,
    port: (index === 0 ? options.port : undefined) ?? nextPort(),
    controllerPort: nextPort(),
    listeners: Object.fromEntries(protocols.map(([name, protocol]): [string, Listener] => [name, { protocol, port: nextPort() }])),
  }));
  const clusterId = kafkaId();
  const nodes: OwnedNode[] = [];
  for (const place of places) {
    const nodeFolder = join(folder, `node-${place.id}`);
    const dataFolder = join(nodeFolder, 'data');
    const settingsFile = join(nodeFolder, 'server.properties');
    await mkdir(dataFolder, { recursive: true });
    await copyFile(bootstrapCheckpoint, join(dataFolder, 'bootstrap.checkpoint'));
    await writeFile(
      join(dataFolder, 'meta.properties'),
      `version=1\ncluster.id=${clusterId}\nnode.id=${place.id}\ndirectory.id=${kafkaId()}\n`,
    );
    await writeFile(settingsFile, serverProperties(place, places, dataFolder, settings));
    nodes.push(
      createKafkaNode({
        id: place.id,
        address: `127.0.0.1:${place.port}`,
        addresses: Object.fromEntries(Object.entries(place.listeners).map(([name, { port }]) => [name, `127.0.0.1:${port}`])),
        folder: nodeFolder,
        command: [...command, settingsFile],
        environment,
        readyWithinMs,
        ready: async () => {
          const running = nodes.filter((node) => node.pid !== undefined);
          return running.some(({ id }) => id === place.id) && everyNodeKnowsAll(running, clusterId);
        },
      }),
    );
  }
  return nodes;
}

/**
 * Returns whether each running node that isn't frozen lists all running nodes. An open port isn't enough, because another cluster may have
 * taken it in the meantime.
 */
async function everyNodeKnowsAll(running: readonly OwnedNode[], clusterId: string): Promise<boolean> {
  const asked = running.filter((node) => !node.paused());
  const answers = await Promise.all(asked.map(async ({ address }) => knownNodes(address, clusterId).catch((): readonly number[] => [])));
  return answers.every((ids) => running.every(({ id }) => ids.includes(id)));
}

/**
 * Creates an ID as Kafka spells it, from 128 bits. The first bit is 0, because an ID with a leading minus sign would look like an option to
 * Kafka's tools.
 */
function kafkaId(): string {
  const bytes = randomBytes(16);
  bytes[0] = (bytes[0] ?? 0) & 0x7f;
  return bytes.toString('base64url');
}
