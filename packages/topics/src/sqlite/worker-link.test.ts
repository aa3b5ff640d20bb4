import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startChild } from './child.fixture.ts';
import { temporaryFolder } from './temporary-folder.fixture.ts';
import { WorkerLink } from './worker-link.ts';

it('rejects every pending and later call after its thread has died', async () => {
  const options = { file: 'log.db', busyTimeoutMs: 1, tombstoneRetentionMs: 1, maxFileBytes: 0 };
  const link = new WorkerLink(options, new URL('./dying-worker.fixture.ts', import.meta.url));
  const calls = await Promise.allSettled([link.call('dataVersion'), link.call('listTopics'), link.call('listTopics')]);
  for (const call of calls) {
    expect(call.status === 'rejected' && call.reason).toMatchObject({ code: 'HEADGATE_TOPIC_LOG_FAILED' });
    expect(call.status === 'rejected' && String(call.reason)).toMatch(/log\.db failed: out of memory\. .*Close and reopen it/);
  }
  await expect(link.call('listTopics')).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_TOPIC_LOG_FAILED' }));
  await link.close();
});

it('lets its process end after a call that could not be sent to the thread', async () => {
  const script = new URL('./refused-call.fixture.ts', import.meta.url);
  const child = startChild({ script, args: [join(temporaryFolder(), 'log.db')] });
  await child.line('DataCloneError');
  await child.ended;
  expect(child.process.exitCode).toBe(0);
});
