import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

export interface LifelineOptions {
  /** POSIX shell script. Its file descriptor 3 is the lifeline. */
  readonly script: string;
  /** Arguments of the script: `$0`, `$1` and so on. */
  readonly args: readonly string[];
  readonly folder: string;
  /** File descriptor for the script's output. Default: the output is discarded. */
  readonly output?: number;
  readonly environment: NodeJS.ProcessEnv;
}

export interface Lifeline {
  readonly child: ChildProcess;
  /** Writes a line, so that `read` in the script succeeds. */
  readonly release: () => void;
}

/**
 * Starts a shell with a pipe that ends without a line when this process ends in any way, even by SIGKILL.
 *
 * The shell has its own session, so that ^C doesn't reach it. It doesn't keep this process alive. The pipe isn't stdin, because Node closes a
 * child's stdin before it reports the child's exit. Throws if there is no shell.
 */
export function startOnLifeline({ script, args, folder, output, environment }: LifelineOptions): Lifeline {
  const out = output ?? 'ignore';
  const child = spawn('sh', ['-c', script, ...args], {
    cwd: folder,
    env: environment,
    stdio: ['ignore', out, out, 'pipe'],
    detached: true,
  });
  const pipe = child.stdio[3] as Socket | undefined;
  child.on('error', () => undefined);
  pipe?.on('error', () => undefined);
  if (child.pid === undefined) throw new Error('There is no POSIX shell (sh) in PATH.');
  child.unref();
  pipe?.unref();
  return { child, release: () => pipe?.end('released\n') };
}
