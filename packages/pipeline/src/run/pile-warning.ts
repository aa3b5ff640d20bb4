import type { Clock } from '@headgate/throttle';
import type { Pipeline } from '../definition/pipeline.ts';
import type { JobRecord } from '../topics/job.ts';

/**
 * Returns a function that warns once if jobs come due faster than the lane starts or finishes them. Call it before the work on each request
 * starts. `key`: key of the walk; undefined for a lookup.
 */
export function pileWarning(
  pipeline: Pick<Pipeline, 'name' | 'everyOf'>,
  clock: Clock,
  isWalking: (key: string) => boolean,
  warn: (message: string) => void,
) {
  const openedAtMs = clock.epochMs();
  let isWarned = false;
  return ({ timestampMs = 0 }: Pick<JobRecord, 'timestampMs'>, request: unknown, key: string | undefined): void => {
    if (isWarned) return;
    const everyMs = pipeline.everyOf(request);
    if (everyMs === undefined) return;
    const waitedMs = clock.epochMs() - timestampMs;
    // A job that was added before the lane was opened says nothing about the pace of this run.
    const isLate = timestampMs >= openedAtMs && waitedMs > everyMs;
    if (!isLate && (key === undefined || !isWalking(key))) return;
    isWarned = true;
    const fact = isLate
      ? `a job waited ${seconds(Math.round(waitedMs / 1_000))} before it started, but \`every\` is ${seconds(everyMs / 1_000)}`
      : `${key} is due again while its previous job is unfinished`;
    warn(`${pipeline.name}: ${fact}. Jobs pile up if the whole list takes longer than \`every\`. Increase \`every\`.`);
  };
}

function seconds(count: number): string {
  return `${count.toLocaleString('en-US')} s`;
}
