import { type ChildProcess, type SpawnOptions, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { onTestFinished } from 'vitest';

/** A process that runs a fixture and exchanges lines with the test. It is killed at the end of the test. */
export interface Child {
  readonly process: ChildProcess;
  readonly lines: string[];
  /** Resolves to the first line that begins with `start`, even if it was printed before. Rejects if the process ends without such a line. */
  line(start: string): Promise<string>;
  /** Kills the process with SIGKILL, and waits until it has ended. */
  kill(): Promise<void>;
  readonly ended: Promise<void>;
}

export function startChild(options: {
  readonly script: URL;
  readonly args: readonly string[];
  readonly spawn?: SpawnOptions;
  readonly wrap?: readonly string[];
}): Child {
  const command = [
    ...(options.wrap ?? []),
    process.execPath,
    '--disable-warning=ExperimentalWarning',
    fileURLToPath(options.script),
    ...options.args,
  ];
  const child = spawn(command[0] ?? '', command.slice(1), { ...options.spawn, stdio: ['pipe', 'pipe', 'inherit'] });
  const lines: string[] = [];
  const waiting = new Set<() => void>();
  let ended = false;
  const wake = (): void => waiting.forEach((look) => look());
  const done = new Promise<void>((resolve) => {
    child.once('close', () => {
      ended = true;
      wake();
      resolve();
    });
  });
  if (child.stdout !== null) createInterface({ input: child.stdout }).on('line', (line) => wakeWith(line));
  function wakeWith(line: string): void {
    lines.push(line);
    wake();
  }
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await done;
  });
  return {
    process: child,
    lines,
    ended: done,
    line: (start) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = lines.find((line) => line.startsWith(start));
          if (found === undefined && !ended) return;
          waiting.delete(look);
          if (found === undefined) reject(new Error(`the process ended without a line "${start}…": ${lines.join(' | ')}`));
          else resolve(found);
        };
        waiting.add(look);
        look();
      }),
    kill: () => {
      child.kill('SIGKILL');
      return done;
    },
  };
}
