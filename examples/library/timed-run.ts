import { type Forecast, type Pipeline, type RunResult, forecast, leftToDo, start } from '@headgate/pipeline';
import type { TopicLog } from '@headgate/topics';

export interface TimedRunOptions {
  readonly log: TopicLog;
  readonly pipelines: readonly Pipeline[];
  /** Time after which the run sends no further request, ms. It then ends within 10 s, after writing the responses in flight. */
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
