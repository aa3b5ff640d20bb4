import { type Pipeline, start } from '@headgate/pipeline';
import { type CutLogOptions, cutLog } from '@headgate/pipeline/testing';
import type { LogShare } from './shared-log.fixture.ts';

/** Runs a pipeline once for each cut, with a log that fails there, and then again to its end. */
export async function runCut({ log, ...share }: LogShare, pipeline: Pipeline, all: readonly CutLogOptions[]): Promise<void> {
  for (const cut of [...all, { at: Infinity, isDurable: false }]) {
    try {
      await using running = await start({ ...share, log: cutLog(log, cut).log, pipelines: [pipeline] });
      const { failures } = await running.done;
      if (cut.at === Infinity && failures.length > 0) throw new Error('the last run failed', { cause: failures });
    } catch (error) {
      if (Object(error).code !== 'HEADGATE_TOPIC_LOG_FAILED') throw error;
    }
  }
}

export async function valuesOf({ log, topics: { prefix } }: LogShare, topic: string): Promise<unknown[]> {
  return (await Array.fromAsync(log.read({ topic: prefix + topic }))).map(({ value }) => JSON.parse(value ?? 'null') as unknown);
}
