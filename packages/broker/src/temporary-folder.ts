import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { startOnLifeline } from './lifeline.ts';

/**
 * Shell script that removes the folder when this process has ended without doing so. It tries several times, because processes that are
 * killed at the same moment may still write into the folder.
 */
const removeLater = `
read -r line <&3 && exit
for seconds in 1 2 4; do sleep $seconds; rm -rf "$0" && exit; done
`;

/** A folder that is removed soon after this process ends, if not before. */
export interface TemporaryFolder {
  readonly path: string;
  readonly remove: () => Promise<void>;
}

export async function makeTemporaryFolder(environment: NodeJS.ProcessEnv): Promise<TemporaryFolder> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-kafka-'));
  const { release } = startOnLifeline(removeLater, [path], tmpdir(), environment);
  return {
    path,
    remove: async () => {
      await rm(path, { recursive: true, force: true, maxRetries: 3 });
      release();
    },
  };
}
