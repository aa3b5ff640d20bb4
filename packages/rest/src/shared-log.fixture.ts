import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll } from 'vitest';

/** A log's share: options of `start`, and what the names of its topics begin with. */
export interface LogShare {
  readonly log: TopicLog;
  readonly group: string;
  readonly topics: { readonly prefix: string };
}

/**
 * One embedded log for the tests of a file, and a share of it for each: to start a log's thread costs more than most of them do. Call it
 * outside of any test.
 */
export function sharedLog(): () => LogShare {
  let folder: Awaited<ReturnType<typeof temporaryFolder>>;
  let log: TopicLog;
  beforeAll(async () => {
    folder = await temporaryFolder();
    log = await sqliteTopicLog({ file: join(folder.path, 'log.db') });
  });
  afterAll(async () => {
    await log.close();
    await folder[Symbol.asyncDispose]();
  });
  return () => shareOf(log);
}

function shareOf(log: TopicLog): LogShare {
  const group = randomUUID();
  return { log, group, topics: { prefix: `${group}.` } };
}

export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, maxRetries: 3 }) };
}
