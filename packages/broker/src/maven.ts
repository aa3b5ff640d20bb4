import { mkdir, rename, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { lastLines, runCommand } from './command.ts';
import { KafkaBrokerError } from './kafka-broker-error.ts';

/** A Maven project without code of its own. `content`: its dependencies and repositories. */
export function pomWith(artifact: string, content: string): string {
  return `<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>headgate</groupId>
  <artifactId>${artifact}</artifactId>
  <version>1</version>
  <packaging>pom</packaging>
${content}
</project>
`;
}

/**
 * Downloads the dependencies of a project into `folder`, as a goal of the dependency plugin writes them. Leaves its work in `<folder>.pom`. Throws a
 * `KafkaBrokerError` with Maven's output if that fails. `what`: the name in its message.
 */
export async function download(
  what: string,
  pom: string,
  goal: 'copy-dependencies' | 'unpack-dependencies',
  folder: string,
  environment: NodeJS.ProcessEnv,
): Promise<void> {
  const project = `${folder}.pom`;
  await mkdir(project, { recursive: true });
  await writeFile(join(project, 'pom.xml'), pom);
  const files = join(project, 'files');
  // Maven takes the home folder from the user database, not from HOME.
  const repository = `-Dmaven.repo.local=${join(homedir(), '.m2', 'repository')}`;
  const plugin = `org.apache.maven.plugins:maven-dependency-plugin:3.6.1:${goal}`;
  const args = ['-B', '-ntp', repository, plugin, '-DincludeScope=runtime', `-DoutputDirectory=${files}`];
  const { status, output } = await runCommand('mvn', args, { environment, folder: project });
  if (status !== 0) throw new KafkaBrokerError(`Maven couldn't download ${what}:\n${lastLines(output)}`);
  await rename(files, folder);
}
