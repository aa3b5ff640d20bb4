import { enableCompileCache } from 'node:module';
import { createStop } from './stop.ts';

// Without this cache, Node compiles the code at every start.
enableCompileCache();
/** Time (ms) that a process gets to exit. If a thread blocks the exit for longer, the process is killed. */
const EXIT_WITHIN_MS = 300;
/** Time (ms) from the end of a command until the process exits, even if a library has left something open. */
const LINGER_MS = 500;

// Handle signals first, so that a command can also be stopped while it starts.
const stop = createStop(
  () => performance.now(),
  (ms, call) => void setTimeout(call, ms).unref(),
  exit,
);
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
for (const signal of SIGNALS) process.on(signal, (name) => stop.onSignal(name));

const { stdin, stdout, stderr, env } = process;
for (const stream of [stdout, stderr]) {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    // The reader has closed the pipe, which isn't an error. Any other error means that output was lost.
    if (error.code !== 'EPIPE') process.exitCode = 1;
  });
}

const { runCommandLine } = await import('./command-line.ts');
const cwd = workingFolder();
if (cwd === undefined) stderr.write('headgate: the working folder no longer exists. Change to another one.\n');
let code = cwd === undefined ? 2 : 130;
if (cwd !== undefined && !stop.signal.aborted) {
  code = await runCommandLine(process.argv.slice(2), {
    cwd,
    env,
    stdin,
    stdout,
    stderr,
    clock: async () => (await import('@headgate/throttle')).systemClock(),
    signal: stop.signal,
    deadline: stop.deadline,
  });
}
process.exitCode ??= code;
// If a pipe is asynchronous, output can still be on its way to a slow reader.
await Promise.all([stdout, stderr].map(async (stream) => await new Promise<void>((resolve) => void stream.write('', () => resolve()))));
// A connection that a library left open must not keep a command from ending.
setTimeout(() => exit(), LINGER_MS).unref();

/** The working folder; undefined if it was deleted. */
function workingFolder(): string | undefined {
  try {
    return process.cwd();
  } catch {
    return undefined;
  }
}

/**
 * Ends the process even if a thread hangs. Node's exit waits for its threads, and one can be blocked in a system call: a pipe without a
 * writer, or a name server or disk that doesn't respond. A child process then kills this one.
 */
function exit(exitCode = process.exitCode): void {
  const { pid, execPath } = process;
  const kill = `setTimeout(() => process.ppid === ${pid} && process.kill(${pid}, 'SIGKILL'), ${EXIT_WITHIN_MS})`;
  process.getBuiltinModule('node:child_process').spawn(execPath, ['-e', kill], { stdio: 'ignore', env: {} });
  process.exit(exitCode);
}
