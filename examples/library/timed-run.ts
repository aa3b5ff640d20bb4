import { type Forecast, type Pipeline, type RunResult, forecast, leftToDo, start } from '@headgate/pipeline';
import type { TopicLog } from '@headgate/topics';

export interface TimedRunOptions {
  readonly log: TopicLog;
  readonly pipelines: readonly Pipeline[];
  /** When the run starts no further request; up to 10 s later it has written the answers in flight. */
  readonly forMs: number;
}

export interface TimedRun {
  readonly outcome: RunResult['outcome'];
  /** How many HTTP requests are left, and how long they take. */
  readonly left: Forecast;
}

/** Works for a while, as a cron job or a function with a time limit does. The next one goes on where this one stopped. */
export async function timedRun({ log, pipelines, forMs }: TimedRunOptions): Promise<TimedRun> {
  const signal = AbortSignal.timeout(forMs);
  const outcome = await start({ log, pipelines, signal }).then(
    async ({ done }) => (await done).outcome,
    (error: unknown): TimedRun['outcome'] => {
      // The time was over before the run had begun.
      if (error === signal.reason) return 'stopped';
      throw error;
    },
  );
  const lanes = (await leftToDo({ log, pipelines })).flatMap((pipeline) => pipeline.lanes);
  return { outcome, left: forecast(lanes, { now: Date.now() }) };
}
