import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import type { Socket } from 'node:net';

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
 *
 * `script`: POSIX shell script, whose file descriptor 3 is the lifeline. `args`: its arguments `$0`, `$1` and so on. `out`: file descriptor
 * for its output, which is discarded by default.
 */
export function startOnLifeline(
  script: string,
  args: readonly string[],
  folder: string,
  environment: NodeJS.ProcessEnv,
  out: number | 'ignore' = 'ignore',
): Lifeline {
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
