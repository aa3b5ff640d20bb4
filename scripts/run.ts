import { type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';

/** How a command has ended. What didn't go to a pipe is empty. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command. By default, its stdout and stderr are pipes, and it has no stdin. `onText` gets each piece of its stdout. If a signal tells
 * this process to end, the command is told to end, and this process ends after it with 130.
 */
export async function run(
  [command = '', ...args]: readonly string[],
  options: SpawnOptions = {},
  onText: (text: string) => void = () => undefined,
): Promise<Ended> {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
  const end = (): void => {
    child.once('close', () => process.exit(130));
    child.kill();
  };
  // Before the command starts, because it can be busy before this process continues.
  for (const signal of signals) process.on(signal, end);
  const child = spawn(command, args, { stdio: ['ignore', 'pipe', 'pipe'], ...options });
  const out = { stdout: '', stderr: '' };
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out.stdout += text;
    onText(text);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
  try {
    const [code] = (await once(child, 'close')) as [number | null];
    return { code, ...out };
  } finally {
    for (const signal of signals) process.off(signal, end);
  }
}
