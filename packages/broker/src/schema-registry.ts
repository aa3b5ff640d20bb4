import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runCommand } from './command.ts';
import { freePorts } from './free-ports.ts';
import { cacheFolder } from './jars.ts';
import { startJava } from './java-process.ts';
import { findJava, withUtf8 } from './java.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';
import { makeOnce } from './make-once.ts';
import { download, pomWith } from './maven.ts';

/** A real schema registry: Apicurio, which keeps its schemas in memory. It ends with this process. */
export interface SchemaRegistryServer extends AsyncDisposable {
  /** Address of Confluent's API. */
  readonly url: string;
  /** Kills the registry. */
  kill(): Promise<void>;
}

const VERSION = '3.0.9';
const JAR = `apicurio-registry-app-${VERSION}-runner.jar`;

/** The parent of Apicurio's POM isn't published in this version. Nothing of it is needed, so that an empty one does. */
const PARENT = `<project><modelVersion>4.0.0</modelVersion><groupId>io.apicurio</groupId><artifactId>apicurio-registry</artifactId><version>${VERSION}</version><packaging>pom</packaging></project>`;

const pomOf = (repository: string): string =>
  pomWith(
    'registry-for-tests',
    `  <dependencies>
    <dependency>
      <groupId>io.apicurio</groupId><artifactId>apicurio-registry-app</artifactId><version>${VERSION}</version>
      <type>tar.gz</type><classifier>all</classifier>
      <exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>
    </dependency>
  </dependencies>
  <repositories><repository><id>parent</id><url>file://${repository}</url></repository></repositories>`,
  );

function folderOf(environment: NodeJS.ProcessEnv): string {
  return join(cacheFolder(environment), `apicurio-${createHash('sha256').update(pomOf('')).digest('hex').slice(0, 12)}`);
}

/** Returns why no schema registry can be started here, or undefined if one can. It needs Java 17 or newer, and Maven for the first start. */
export async function whyNoSchemaRegistry(environment: NodeJS.ProcessEnv = process.env): Promise<string | undefined> {
  const java = await findJava(environment);
  if (typeof java === 'string') return java;
  if (existsSync(folderOf(environment))) return undefined;
  const { status } = await runCommand('mvn', ['-version'], { environment });
  return status === 0 ? undefined : "Apicurio isn't in the cache yet, and Maven (mvn) isn't installed to download it.";
}

/** Starts a schema registry. The first start downloads 109 MB. Throws a `KafkaBrokerError` if that fails, or if it isn't ready within 5 minutes. */
export async function startSchemaRegistry(given: NodeJS.ProcessEnv = process.env): Promise<SchemaRegistryServer> {
  const environment = withUtf8(given);
  const java = await findJava(environment);
  if (typeof java === 'string') throw new KafkaBrokerError(java);
  const program = folderOf(environment);
  await makeOnce(program, (unfinished) => fetched(unfinished, environment));
  const folder = await mkdtemp(join(tmpdir(), 'headgate-registry-'));
  const [port] = await freePorts(1);
  const settings = [`-Dquarkus.http.port=${port}`, '-Dquarkus.http.host=127.0.0.1', '-Xmx512m'];
  const server = startJava([java.command, ...settings, '-jar', join(program, JAR)], folder, 'log', environment);
  const url = `http://127.0.0.1:${port}/apis/ccompat/v7`;
  const kill = async (): Promise<void> => {
    server.signal('SIGKILL');
    await server.gone();
    await rm(folder, { recursive: true, force: true });
  };
  for (let tries = 0; !(await isReady(url)); tries += 1) {
    if (tries > 600 || !server.running()) {
      await kill();
      throw new KafkaBrokerError('The schema registry for tests has not become ready.');
    }
    await sleep(500);
  }
  return { url, kill, [Symbol.asyncDispose]: kill };
}

async function isReady(url: string): Promise<boolean> {
  return await fetch(`${url}/subjects`).then(
    ({ ok }) => ok,
    () => false,
  );
}

async function fetched(folder: string, environment: NodeJS.ProcessEnv): Promise<void> {
  // Not in the cache, because Maven misreads a URL of a folder with letters beyond ASCII.
  const repository = await mkdtemp(join(tmpdir(), 'headgate-parent-'));
  try {
    const parent = join(repository, 'io/apicurio/apicurio-registry', VERSION);
    await mkdir(parent, { recursive: true });
    await writeFile(join(parent, `apicurio-registry-${VERSION}.pom`), PARENT);
    await download(`Apicurio ${VERSION}`, pomOf(repository), 'unpack-dependencies', folder, environment);
  } finally {
    await rm(repository, { recursive: true, force: true });
  }
}
