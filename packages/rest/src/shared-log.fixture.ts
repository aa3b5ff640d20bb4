import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { afterAll, beforeAll } from 'vitest';

/** A test's share of a log: options of `start` with a group and a topic prefix that no other test uses. */
export interface LogShare {
  readonly log: TopicLog;
  readonly group: string;
  readonly topics: { readonly prefix: string };
}

/**
 * One embedded log for the tests of a file, and a function that returns a share of it for each test. Starting a log for each test would be
 * slow. Call this outside of any test.
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
