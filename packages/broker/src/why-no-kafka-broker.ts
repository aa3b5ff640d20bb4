import { runCommand } from './command.ts';
import { type KafkaVersion, defaultVersion, haveJars, namedJars } from './jars.ts';
import { findJava } from './java.ts';

/**
 * Returns why no broker can be started here, or undefined if one can. A broker needs Java 17 or newer, and Maven unless Kafka's jars are
 * already there.
 *
 * `environment` provides `PATH`, `JAVA_HOME`, `XDG_CACHE_HOME` and `HEADGATE_KAFKA_JARS`. Default: `process.env`. `version`: release of
 * Kafka, default '4.3.1'.
 */
export async function whyNoKafkaBroker(
  environment: NodeJS.ProcessEnv = process.env,
  version: KafkaVersion = defaultVersion,
): Promise<string | undefined> {
  if (process.platform === 'win32') return 'The broker for tests needs a POSIX shell.';
  const java = await findJava(environment);
  if (typeof java === 'string') return java;
  if (haveJars(environment, version)) return undefined;
  const named = namedJars(environment, version);
  if (named !== undefined) return `HEADGATE_KAFKA_JARS names ${named}, which isn't there.`;
  const { status } = await runCommand('mvn', ['-version'], { environment });
  return status === 0
    ? undefined
    : "Kafka's jars aren't in the cache yet, and Maven (mvn) isn't installed to download them. Install it, or set HEADGATE_KAFKA_JARS to a folder that has them.";
}
