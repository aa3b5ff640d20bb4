import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

import { type ClusterOptions, layOutCluster } from './cluster.ts';
import { lastLines, runCommand } from './command.ts';
import { cacheFolder } from './jars.ts';
import type { Java } from './java.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';
import { makeOnce } from './make-once.ts';
import { serverProperties } from './server-properties.ts';
import { makeTemporaryFolder } from './temporary-folder.ts';

export interface PreparedStart {
  readonly bootstrapCheckpoint: string;
  /** Java and its arguments up to the settings file. */
  readonly command: readonly string[];
}

/**
 * Formats a storage folder and archives Kafka's classes, once for these jars and this Java. Both results stay in the cache.
 *
 * If Java can't create the archive, starts are only slower. Throws `KafkaBrokerError` if Kafka can't format the folder or start.
 */
export async function prepareStart(
  java: Java,
  classPath: string,
  environment: NodeJS.ProcessEnv,
  readyWithinMs: number,
): Promise<PreparedStart> {
  const hash = createHash('sha256').update(`${classPath}\n${java.build}`).digest('hex').slice(0, 12);
  const folder = join(cacheFolder(environment), `kafka-start-${hash}`);
  await makeOnce(folder, async (unfinished) => {
    await mkdir(unfinished);
    const temporary = await makeTemporaryFolder(environment);
    try {
      const bootstrapCheckpoint = join(unfinished, 'bootstrap.checkpoint');
      await cp(await format(temporary.path, java, classPath, environment), bootstrapCheckpoint);
      const command = kafkaCommand(java, classPath, [`-XX:ArchiveClassesAtExit=${join(unfinished, 'classes.jsa')}`]);
      await archiveClasses({ folder: join(temporary.path, 'archive'), bootstrapCheckpoint, command, environment, readyWithinMs });
    } finally {
      await temporary.remove();
    }
  });
  const archive = join(folder, 'classes.jsa');
  const archived = existsSync(archive) ? [`-XX:SharedArchiveFile=${archive}`] : [];
  return { bootstrapCheckpoint: join(folder, 'bootstrap.checkpoint'), command: kafkaCommand(java, classPath, archived) };
}

/** JVM options for little memory, no optimization of code that runs for only seconds, and a short log that ends with the error. */
const frugally = [
  '-Xms256m',
  '-Xmx256m',
  '-Xss512k',
  '-XX:ReservedCodeCacheSize=64m',
  '-XX:+UseSerialGC',
  '-XX:TieredStopAtLevel=1',
  '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn',
];

function kafkaCommand(java: Java, classPath: string, options: readonly string[]): readonly string[] {
  return [java.command, ...frugally, ...options, '-cp', classPath, 'kafka.Kafka'];
}

/** Formats a storage folder. Returns the path of its `bootstrap.checkpoint`, which every new node needs. */
async function format(folder: string, java: Java, classPath: string, environment: NodeJS.ProcessEnv): Promise<string> {
  const node = { id: 1, port: 1, controllerPort: 2 };
  const dataFolder = join(folder, 'format');
  const settingsFile = join(folder, 'format.properties');
  await writeFile(settingsFile, serverProperties(node, [node], dataFolder, {}));
  const id = Buffer.from('headgate-sandbox').toString('base64url');
  const { status, output } = await runCommand(
    java.command,
    ['-cp', classPath, 'kafka.tools.StorageTool', 'format', '-t', id, '-c', settingsFile],
    { environment },
  );
  if (status !== 0) throw new KafkaBrokerError(`Kafka could not format its storage:\n${lastLines(output)}`);
  return join(dataFolder, 'bootstrap.checkpoint');
}

/** Starts a node and lets it end normally, which makes Java write the archive. */
async function archiveClasses(options: Omit<ClusterOptions, 'size' | 'settings'>): Promise<void> {
  const [node] = await layOutCluster({ size: 1, settings: {}, ...options });
  if (node === undefined) return;
  try {
    await node.start();
    await node.stop();
  } finally {
    await node.kill();
  }
}
