#!/usr/bin/env node
import { systemClock } from '@headgate/throttle';
import { runCommandLine } from './command-line.ts';

/** A stop that takes longer than this is cut short: what was committed is safe. */
const STOP_WITHIN_MS = 9_500;

const stop = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
  process.on(signal, () => {
    // The second one means it.
    if (stop.signal.aborted) process.exit(130);
    stop.abort(new Error(`stopped by ${signal}`));
    setTimeout(() => process.exit(130), STOP_WITHIN_MS).unref();
  });
}

const { stdin, stdout, stderr, env } = process;
process.exitCode = await runCommandLine(process.argv.slice(2), {
  cwd: process.cwd(),
  env,
  stdin,
  stdout,
  stderr,
  clock: systemClock(),
  signal: stop.signal,
});
