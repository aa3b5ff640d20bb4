import { join } from 'node:path';

import { runCommand } from './command.ts';

export interface Java {
  readonly command: string;
  /** The whole output of `java -version`, which identifies the build. A class archive works with only one build. */
  readonly build: string;
}

const leastVersion = 17;

/** Java finds files whose path has letters beyond ASCII only in such a locale. */
export function withUtf8(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  return { ...environment, LC_ALL: 'C.UTF-8' };
}

/** Looks for Java in `JAVA_HOME` or, if that isn't set, in PATH. Returns the reason as a string if there is no suitable Java. */
export async function findJava(environment: NodeJS.ProcessEnv): Promise<Java | string> {
  const home = environment['JAVA_HOME'];
  const command = home === undefined || home === '' ? 'java' : join(home, 'bin', 'java');
  const { status, output } = await runCommand(command, ['-version'], { environment });
  if (status !== 0)
    return `Kafka needs Java ${leastVersion} or newer, and ${command} is missing. Install it, or set JAVA_HOME to its folder.`;
  const version = Number(/version "(?<major>\d+)/u.exec(output)?.groups?.['major']);
  if (version >= leastVersion) return { command, build: output };
  return `Kafka needs Java ${leastVersion} or newer; ${command} is ${output.split('\n')[0] ?? 'unknown'}. Set JAVA_HOME to the folder of a newer one.`;
}
