import type { Clock } from '@headgate/throttle';
import { durationWords } from './text/duration-words.ts';
import type { RunView } from './run-view.ts';
import { countWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { LogDriver, LogEvent, LogUnavailable } from './display-event.ts';
import type { TimeWords } from './text/time-words.ts';

const UNAVAILABLE: Readonly<Record<LogDriver, string>> = {
  kafka: "kafka can't be reached",
  sqlite: "the topic log can't be written",
  own: "the topic log can't be reached",
};
const AVAILABLE: Readonly<Record<LogDriver, string>> = {
  kafka: 'kafka can be reached again',
  sqlite: 'the topic log can be written again',
  own: 'the topic log can be reached again',
};
/** Maximum characters of a reason, which can name many topics. */
const MAX_REASON = 800;

/** A short description of a log's outage, without its reason: `kafka can't be reached`. */
export function logOutageLabel({ driver }: Pick<LogUnavailable, 'driver'>): string {
  return UNAVAILABLE[driver];
}

const COMFORT = 'nothing is lost; continues automatically';

/** Describes an outage of the log. The kind and the start come first, because a narrow terminal cuts the end. */
export function logOutageWords({ now }: Pick<RunView, 'now'>, outage: LogUnavailable, times: TimeWords): string {
  const { since } = outage;
  const elapsed = now - since < 1_000 ? '' : `, for ${durationWords(Math.floor((now - since) / 1_000) * 1_000)}`;
  const reason = safeText(outage.reason, MAX_REASON);
  return `${logOutageLabel(outage)} since ${times.when(since, now)}${elapsed}: ${COMFORT} (${reason})`;
}

/** A change of the log's availability, on one line. */
export function logEventWords(event: LogEvent): string {
  if (event.type === 'log-available') return AVAILABLE[event.driver];
  return `${logOutageLabel(event)} (${safeText(event.reason, MAX_REASON)}): ${COMFORT}`;
}

/**
 * Returns a function that describes events about the log. It reports each outage and each recovery once, however often an event repeats. A
 * recovery includes the duration of the outage.
 */
export function logLines({ clock }: { readonly clock: Clock }): (event: LogEvent) => string | undefined {
  let sinceMs: number | undefined;
  return (event) => {
    const wasSinceMs = sinceMs;
    if (event.type === 'log-available') {
      sinceMs = undefined;
      return wasSinceMs === undefined ? undefined : `${logEventWords(event)} after ${durationWords(clock.monotonicMs() - wasSinceMs)}`;
    }
    sinceMs ??= clock.monotonicMs() - Math.max(0, clock.epochMs() - event.since);
    return wasSinceMs === undefined ? logEventWords(event) : undefined;
  };
}

type Failing = NonNullable<RunView['pipelines'][string]['failing']>;

/** An outage shorter than this (ms) is usually over after one retry, so displays leave it out. */
const FAILING_AFTER_MS = 2_000;

/** The pipelines whose attempts have failed for at least `FAILING_AFTER_MS`. */
export function failingPipelines({
  pipelines,
  now,
}: Pick<RunView, 'pipelines' | 'now'>): readonly (Failing & { readonly pipeline: string })[] {
  return Object.entries(pipelines).flatMap(([pipeline, { failing }]) =>
    failing === undefined || now - failing.since < FAILING_AFTER_MS ? [] : [{ pipeline, ...failing }],
  );
}

/** Describes an outage of a service. Its start and the next attempt come first, because a narrow terminal cuts the end. */
export function serviceOutageWords(
  { now }: Pick<RunView, 'now'>,
  { pipeline, since, attempts, retryAt, waiting = 0, reason }: ReturnType<typeof failingPipelines>[number],
  times: TimeWords,
): string {
  const next = retryAt !== undefined && retryAt > now ? `, next attempt ${times.when(retryAt, now)}` : '';
  const jobs = waiting === 0 ? '' : `, ${countWords(waiting, 'job')} waiting`;
  return `${pipeline}: down since ${times.when(since, now)}${next} (${countWords(attempts, 'attempt')}${jobs}): ${safeText(reason, 200)}`;
}
