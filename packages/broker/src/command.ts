import { spawn } from 'node:child_process';

export interface CommandResult {
  /** Exit code; undefined if the command could not be started or a signal ended it. */
  readonly status: number | undefined;
  /** Standard output and error, in the order in which they arrived. */
  readonly output: string;
}

/** Runs a command to its end. For a missing command, the result has no status. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { readonly environment: NodeJS.ProcessEnv; readonly folder?: string },
): Promise<CommandResult> {
  return new Promise((resolve) => {
    const child = spawn(command, args, { cwd: options.folder, env: options.environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const pieces: Buffer[] = [];
    const output = (): string => Buffer.concat(pieces).toString();
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.stderr.on('data', (piece: Buffer) => pieces.push(piece));
    child.on('error', (error) => resolve({ status: undefined, output: error.message }));
    child.on('close', (status) => resolve({ status: status ?? undefined, output: output() }));
  });
}

export function lastLines(output: string, count = 25): string {
  return output
    .split('\n')
    .filter((line) => line.trim() !== '')
    .slice(-count)
    .join('\n');
}
