import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';

export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** Working folder. Default: that of this process. */
  readonly cwd?: string;
  /** Environment variables. Default: those of this process. */
  readonly env?: NodeJS.ProcessEnv;
}

export async function run([command = '', ...args]: readonly string[], options: RunOptions = {}): Promise<Ended> {
  const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = once(child, 'close') as Promise<[number | null]>;
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), ended]);
  return { code, stdout, stderr };
}
