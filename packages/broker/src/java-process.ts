import { closeSync, openSync } from 'node:fs';
import { join } from 'node:path';

import { startOnLifeline } from './lifeline.ts';

/** Shell script that becomes Java. Before that, it starts a child process, which kills Java if the lifeline ends without a line. */
const becomeJava = `
{ read -r line <&3 || kill -9 $$; } &
exec "$@" 3<&-
`;

/** A Java process that ends when this process does, even if this process is killed. */
export interface JavaProcess {
  readonly pid: number | undefined;
  readonly running: () => boolean;
  /** Does nothing if the process has ended. */
  readonly signal: (name: NodeJS.Signals) => void;
  readonly gone: () => Promise<void>;
}

/** Starts Java, and appends its output to a file in `folder`. Throws if there is no shell. */
export function startJava(command: readonly string[], folder: string, logFile: string, environment: NodeJS.ProcessEnv): JavaProcess {
  const output = openSync(join(folder, logFile), 'a');
  const { child, release } = startOnLifeline(becomeJava, ['java', ...command], folder, environment, output);
  closeSync(output);
  const exit = new Promise<void>((resolve) => {
    child.once('exit', () => {
      release();
      resolve();
    });
  });
  return {
    pid: child.pid,
    running: () => child.exitCode === null && child.signalCode === null,
    signal: (name) => child.kill(name),
    gone: async () => {
      child.ref();
      await exit;
    },
  };
}
