import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { cacheFolder } from './jars.ts';
import { makeOnce } from './make-once.ts';
import { download, pomWith } from './maven.ts';

const VERSION = '3.1.7';
const SERIALIZERS = ['avro', 'jsonschema', 'protobuf'];

const POM = pomWith(
  'registry-clients-for-tests',
  `  <dependencies>
${SERIALIZERS.map((format) => `    <dependency><groupId>io.apicurio</groupId><artifactId>apicurio-registry-${format}-serde-kafka</artifactId><version>${VERSION}</version></dependency>`).join('\n')}
    <dependency><groupId>org.slf4j</groupId><artifactId>slf4j-nop</artifactId><version>2.0.17</version></dependency>
  </dependencies>`,
);

/** Returns a Java class path with Apicurio's deserializers and Kafka's client. The first call downloads 63 MB. Throws a `KafkaBrokerError` if that fails. */
export async function registryClientJars(environment: NodeJS.ProcessEnv = process.env): Promise<string> {
  const folder = join(cacheFolder(environment), `apicurio-clients-${createHash('sha256').update(POM).digest('hex').slice(0, 12)}`);
  await makeOnce(folder, (unfinished) => download("Apicurio's clients", POM, 'copy-dependencies', unfinished, environment));
  return join(folder, '*');
}
