import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';

import { KafkaBrokerError } from './kafka-broker-error.ts';
import { makeOnce } from './make-once.ts';
import { download, pomWith } from './maven.ts';

/** The releases of Kafka that `startKafkaBroker` can run. */
export type KafkaVersion = '3.9.2' | '4.3.1';

export const defaultVersion: KafkaVersion = '4.3.1';

/**
 * Maven project with the jars to download: the broker with all compression codecs, a logger, and the console tools without their other
 * dependencies.
 */
const pomOf = (version: KafkaVersion): string =>
  pomWith(
    'kafka-for-tests',
    `  <dependencies>
    <dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
    <dependency>
      <groupId>org.apache.kafka</groupId><artifactId>kafka-tools</artifactId><version>${version}</version>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
  </dependencies>`,
  );

/** Returns the folder for everything that outlives a test: `$XDG_CACHE_HOME/headgate` or `~/.cache/headgate`. */
export function cacheFolder(environment: NodeJS.ProcessEnv): string {
  return join(environment['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'headgate');
}

/** Returns `HEADGATE_KAFKA_JARS`, which replaces the jars of the default version. */
export function namedJars(environment: NodeJS.ProcessEnv, version: KafkaVersion): string | undefined {
  return (version === defaultVersion && environment['HEADGATE_KAFKA_JARS']) || undefined;
}

/** Returns the folder of Kafka's jars, whether they exist yet or not: `HEADGATE_KAFKA_JARS`, or else one in the cache. */
function jarsFolder(environment: NodeJS.ProcessEnv, version: KafkaVersion): string {
  const hash = createHash('sha256').update(pomOf(version)).digest('hex').slice(0, 12);
  return namedJars(environment, version) ?? join(cacheFolder(environment), `kafka-${hash}`);
}

/** Returns whether the folder of the jars exists, so that Maven isn't needed. */
export function haveJars(environment: NodeJS.ProcessEnv, version: KafkaVersion): boolean {
  return existsSync(jarsFolder(environment, version));
}

/**
 * Returns Kafka's class path, always in the same order. If the jars are missing, calls `onFetch` and downloads them with Maven.
 *
 * Throws `KafkaBrokerError` if there are no jars, with Maven's output if Maven failed.
 */
export async function kafkaClassPath(environment: NodeJS.ProcessEnv, version: KafkaVersion, onFetch?: () => void): Promise<string> {
  const folder = jarsFolder(environment, version);
  if (!haveJars(environment, version)) {
    if (namedJars(environment, version) !== undefined)
      throw new KafkaBrokerError(`HEADGATE_KAFKA_JARS names ${folder}, which isn't there.`);
    onFetch?.();
    await makeOnce(folder, (unfinished) => download(`Kafka ${version}`, pomOf(version), 'copy-dependencies', unfinished, environment));
  }
  const jars = (await readdir(folder)).filter((name) => name.endsWith('.jar')).toSorted();
  if (jars.length === 0) throw new KafkaBrokerError(`There are no jars in ${folder}. Remove that folder, or correct HEADGATE_KAFKA_JARS.`);
  return jars.map((name) => join(folder, name)).join(':');
}
