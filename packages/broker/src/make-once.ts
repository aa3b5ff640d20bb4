import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

import { KafkaBrokerError } from './kafka-broker-error.ts';

/** A lock that hasn't been renewed for this long, in ms, is assumed to belong to a dead process. */
const staleMs = 15_000;

/**
 * Creates a folder that several processes may need at once: one creates it, and the others wait.
 *
 * The folder is created under another name and renamed, so that it is complete when it appears. If two processes create it anyway, the folder of
 * the first one stays. Throws a `KafkaBrokerError` if this user can't write there.
 */
export async function makeOnce(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  await mkdir(dirname(folder), { recursive: true }).catch((cause: Error) => {
    throw new KafkaBrokerError(`The cache needs a folder: ${cause.message}. Set XDG_CACHE_HOME to one that this user can write to.`, {
      cause,
    });
  });
  const lock = `${folder}.lock`;
  while (!existsSync(folder)) {
    if (await locked(lock)) {
      await sleep(200);
      continue;
    }
    const renewal = setInterval(() => {
      utimes(lock, new Date(), new Date()).catch(() => undefined);
    }, staleMs / 5);
    try {
      if (!existsSync(folder)) await makeAndRename(folder, make);
    } finally {
      clearInterval(renewal);
      await rm(lock, { recursive: true, force: true });
    }
  }
}

/** Returns whether another process holds the lock. If none does, this process takes it. */
async function locked(lock: string): Promise<boolean> {
  try {
    await mkdir(lock);
    return false;
  } catch (error) {
    if (!hasCode(error, 'EEXIST')) throw error;
  }
  const renewed = await stat(lock).catch(() => undefined);
  if (renewed !== undefined && Date.now() - renewed.mtimeMs > staleMs) await rm(lock, { recursive: true, force: true });
  return true;
}

async function makeAndRename(folder: string, make: (unfinished: string) => Promise<void>): Promise<void> {
  const workshop = await mkdtemp(`${folder}.making-`);
  try {
    const unfinished = join(workshop, 'folder');
    await make(unfinished);
    await rename(unfinished, folder).catch((error: unknown) => {
      if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
    });
  } finally {
    await rm(workshop, { recursive: true, force: true });
  }
}

function hasCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code;
}
