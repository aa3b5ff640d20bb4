import { type Forecast, type Pipeline, type RunResult, forecast, leftToDo, start } from '@headgate/pipeline';
import type { TopicLog } from '@headgate/topics';

export interface TimedRunOptions {
  readonly log: TopicLog;
  readonly pipelines: readonly Pipeline[];
  /** Time after which the run starts no further request, ms. Up to 10 s later, the responses in flight are written. */
  readonly forMs: number;
}

export interface TimedRun {
  readonly outcome: RunResult['outcome'];
  /** Number of remaining HTTP requests, and the time they take. */
  readonly left: Forecast;
}

/** Runs for a limited time, such as in a cron job or a cloud function. The next run continues where this one stopped. */
export async function timedRun({ log, pipelines, forMs }: TimedRunOptions): Promise<TimedRun> {
  const signal = AbortSignal.timeout(forMs);
  const outcome = await start({ log, pipelines, signal }).then(
    async ({ done }) => (await done).outcome,
    (error: unknown): TimedRun['outcome'] => {
      // The time was over before the run had started.
      if (error === signal.reason) return 'stopped';
      throw error;
    },
  );
  const lanes = (await leftToDo({ log, pipelines })).flatMap((pipeline) => pipeline.lanes);
  return { outcome, left: forecast(lanes, { now: Date.now() }) };
}
