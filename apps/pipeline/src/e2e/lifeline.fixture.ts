import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** The shell leaves a watcher in the background and becomes the command. The watcher kills the command when the test process is gone. */
const LIFELINE = '{ read -r line <&3 || kill -9 $$; } >/dev/null 2>&1 & exec "$@" 3<&-';

export type LifelineOptions = Omit<SpawnOptions, 'stdio'> & { readonly stdin: 'pipe' | 'ignore' };

/** Starts a command that doesn't outlive this process, however this process ends. The command's stdout and stderr are pipes. */
export function spawnOnLifeline(command: readonly string[], { stdin, env, ...options }: LifelineOptions): ChildProcess {
  // Without the compile cache, Node compiles the same code at each start.
  const cache = process.env['NODE_COMPILE_CACHE'];
  const child = spawn('sh', ['-c', LIFELINE, 'sh', ...command], {
    ...options,
    env: { ...(env ?? process.env), ...(cache !== undefined && { NODE_COMPILE_CACHE: cache }) },
    stdio: [stdin, 'pipe', 'pipe', 'pipe'],
  });
  const lifeline = child.stdio[3] as Socket;
  lifeline.on('error', () => undefined);
  child.once('exit', () => lifeline.end('over\n'));
  return child;
}
