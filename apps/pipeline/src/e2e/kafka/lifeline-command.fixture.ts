import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

export interface CommandEnd {
  /** Null if a signal ended the command, for example because it had printed the expected lines. */
  readonly exitCode: number | null;
  /** Lines of stdout. */
  readonly lines: readonly string[];
  readonly stderr: string;
}

export interface CommandOptions {
  readonly command: readonly string[];
  readonly folder: string;
  /** Ends the command a moment after it has printed this many lines. Default: the command ends itself. */
  readonly lines?: number | undefined;
  /** Time limit, ms. Default: 300,000. */
  readonly withinMs?: number;
}

/** When this process is gone, however it ended, the pipe closes without a line, and the command is killed with all its children. */
const LIFELINE = `
{ read -r line <&3 || kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" 3<&-
`;
/** Time in which a command can print more lines than expected, ms. */
const MORE_WITHIN_MS = 300;

/** Runs a command and its children in their own process group, and ends them together. Rejects after `withinMs`. */
export async function runOnLifeline({ command, folder, lines: wanted, withinMs = 300_000 }: CommandOptions): Promise<CommandEnd> {
  const child = spawn('sh', ['-c', LIFELINE, 'sh', ...command], { cwd: folder, stdio: ['ignore', 'pipe', 'pipe', 'pipe'], detached: true });
  const out = { stdout: '', stderr: '' };
  const lines = (): string[] => out.stdout.split('\n').slice(0, -1);
  const killAll = (): void => {
    if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) process.kill(-child.pid, 'SIGKILL');
  };
  let enough: NodeJS.Timeout | undefined;
  child.stdout?.setEncoding('utf8').on('data', (text: string) => {
    out.stdout += text;
    if (wanted !== undefined && lines().length >= wanted) enough ??= setTimeout(killAll, MORE_WITHIN_MS);
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => (out.stderr += text));
  const lifeline = child.stdio[3] as Socket;
  lifeline.on('error', () => undefined);
  child.once('exit', () => lifeline.end('over\n'));

  return await new Promise((resolve, reject) => {
    const limit = setTimeout(() => {
      killAll();
      reject(new Error(`Not done within ${withinMs} ms: ${command.join(' ')}\n${out.stdout}${out.stderr}`));
    }, withinMs);
    child.once('error', reject);
    child.once('close', (exitCode) => {
      clearTimeout(limit);
      clearTimeout(enough);
      resolve({ exitCode, lines: lines(), stderr: out.stderr });
    });
  });
}
