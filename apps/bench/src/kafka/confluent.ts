import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { Client } from './clients.ts';
import { measuredProcess } from './measured-process.ts';

export interface InstallConfluentOptions {
  /** Of its virtual environment. Git ignores it. */
  readonly folder: string;
  readonly say: (text: string) => void;
}

const WANTED = 'confluent-kafka==2.16.1';

/** confluent-kafka in Python, installed where it isn't yet; undefined, and said so, where that can't be done. */
export function confluentClient({ folder, say }: InstallConfluentOptions): Client | undefined {
  const python = join(folder, 'bin', 'python');
  const quietly = { stdio: 'ignore', timeout: 180_000 } as const;
  const works = (): boolean => existsSync(python) && spawnSync(python, ['-c', 'import confluent_kafka'], quietly).status === 0;
  if (!works()) {
    say(`installing ${WANTED} (once)`);
    spawnSync('python3', ['-m', 'venv', folder], quietly);
    spawnSync(python, ['-m', 'pip', 'install', '--quiet', WANTED], quietly);
    if (!works()) {
      say('without confluent-kafka: Python could not install it');
      return undefined;
    }
  }
  const name = 'confluent-kafka (Python), transactions';
  return {
    name,
    topic: (shape) => `confluent.${shape}`,
    furtherTopics: ['confluent.state'],
    ends: true,
    start: (job) =>
      Promise.resolve(
        measuredProcess({
          name,
          program: { command: python, args: [fileURLToPath(new URL('./confluent_loop.py', import.meta.url)), JSON.stringify(job)] },
        }),
      ),
  };
}
