import { spawn } from 'node:child_process';
import type { Socket } from 'node:net';

/** What a command said, and how it ended. */
export interface CommandEnd {
  /** Null when it was ended from here, having said as many lines as expected. */
  readonly exitCode: number | null;
  /** Of stdout. */
  readonly lines: readonly string[];
  /** For people, when something is wrong. */
  readonly stderr: string;
}

export interface CommandOptions {
  readonly command: readonly string[];
  readonly folder: string;
  /** Ends the command when it has said so many lines, and then no more for a moment. Default: it ends by itself. */
  readonly lines?: number | undefined;
  /** Default 300,000. */
  readonly withinMs?: number;
}

/** When this process is gone, however it ended, the pipe ends without a line, and all that the command has started is killed. */
const LIFELINE = `
{ read -r line <&3 || kill -KILL 0; } >/dev/null 2>&1 &
exec "$@" 3<&-
`;
/** What a reader that runs on may still say when it has said all that is expected. */
const MORE_WITHIN_MS = 300;

/** Runs a command with all its children in a group of their own, and ends them all. Rejects when it is not done in time. */
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
