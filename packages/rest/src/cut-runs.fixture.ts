import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pipeline, start } from '@headgate/pipeline';
import { type CutLogOptions, cutLog } from '@headgate/pipeline/testing';
import type { TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';

/** Runs a pipeline on a log that is cut off again and again, and at last to its end. */
export async function runCut(log: TopicLog, pipeline: Pipeline, all: readonly CutLogOptions[]): Promise<void> {
  for (const cut of [...all, { at: Infinity, isDurable: false }]) {
    try {
      await using running = await start({ log: cutLog(log, cut).log, pipelines: [pipeline] });
      const { failures } = await running.done;
      if (cut.at === Infinity && failures.length > 0) throw new Error('the last run failed', { cause: failures });
    } catch (error) {
      if (Object(error).code !== 'HEADGATE_TOPIC_LOG_FAILED') throw error;
    }
  }
}

export async function withLog<Result>(use: (log: TopicLog) => Promise<Result>): Promise<Result> {
  await using folder = await temporaryFolder();
  await using log = await sqliteTopicLog({ file: join(folder.path, 'log.db') });
  return await use(log);
}

export async function temporaryFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'headgate-rest-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, maxRetries: 3 }) };
}

export async function valuesOf(log: TopicLog, topic: string): Promise<unknown[]> {
  return (await Array.fromAsync(log.read({ topic }))).map(({ value }) => JSON.parse(value ?? 'null') as unknown);
}
