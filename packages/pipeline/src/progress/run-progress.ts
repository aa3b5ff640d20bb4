import type { Clock } from '@headgate/throttle';
import { type Forecast, type ForecastOptions, type LaneWork, forecast, walksDone } from './forecast.ts';
import { MAX_IN_WORK } from '../jobs/walk.ts';
import type { Progress } from './run-snapshot.ts';

const FORECAST_EVERY_MS = 1_000;
/** Maximum number of walks per lane that get a finish time. */
const FORECAST_WALKS = 50;

export interface RunProgressOptions {
  readonly clock: Clock;
  /** Returns the number of a pipeline's HTTP requests whose results are written. */
  readonly done: (pipeline: string) => number;
  /** Returns the mean time from a request to its response, ms. */
  readonly requestMs: (pipeline: string) => number;
}

/** How much of a run's work is done, and when all of it will be. */
export interface RunProgress {
  /** Marks the forecast as out of date. */
  noteChange(): void;
  /** True if something has changed since the last forecast, or if that forecast is at least a second old. */
  readonly isDue: boolean;
  forecast(left: readonly LaneWork[]): void;
  /** `isExact`: false if a lane of the pipeline has failed. `isTimed`: whether to include the expected finish time. */
  of(pipeline: string, options: { readonly isExact: boolean; readonly isTimed: boolean }): Progress;
  /** Expected finish times of the next walks of each lane, epoch ms, by request ID. Lanes with a walk of unknown size are left out. */
  readonly walksDoneAt: ReadonlyMap<string, number>;
}

interface PipelineForecast extends Forecast {
  /** Number of requests that were done at the time of the forecast. */
  readonly doneBefore: number;
}

const NOTHING_LEFT: PipelineForecast = { requests: 0, unknown: 0, inMs: 0, doneBefore: 0 };

export function runProgress({ clock, done, requestMs: meanMs }: RunProgressOptions): RunProgress {
  let forecastAtMs = -Infinity;
  let hasChanged = true;
  let walksForecastAtMs = -Infinity;
  let walksDoneAt: ReadonlyMap<string, number> = new Map();
  let forecasts: ReadonlyMap<string, PipelineForecast> = new Map();
  return {
    noteChange() {
      hasChanged = true;
    },
    get isDue() {
      return hasChanged || clock.monotonicMs() - forecastAtMs >= FORECAST_EVERY_MS;
    },
    forecast(left) {
      forecastAtMs = clock.monotonicMs();
      hasChanged = false;
      const now = clock.epochMs();
      const byPipeline = [...Map.groupBy(left, ({ pipeline }) => pipeline)];
      const optionsOf = (pipeline: string): ForecastOptions => ({ now, requestMs: meanMs(pipeline) });
      forecasts = new Map(
        byPipeline.map(([pipeline, lanes]) => [pipeline, { ...forecast(lanes, optionsOf(pipeline)), doneBefore: done(pipeline) }]),
      );
      if (forecastAtMs - walksForecastAtMs < FORECAST_EVERY_MS) return;
      walksForecastAtMs = forecastAtMs;
      walksDoneAt = new Map(left.flatMap((lane) => walksDoneIn(lane, optionsOf(lane.pipeline))));
    },
    of(pipeline, { isExact, isTimed }) {
      const now = clock.epochMs();
      const agoMs = clock.monotonicMs() - forecastAtMs;
      const { requests, unknown, inMs, doneBefore } = forecasts.get(pipeline) ?? NOTHING_LEFT;
      const doneNow = done(pipeline);
      const left = Math.max(0, requests - (doneNow - doneBefore));
      const doneAt = Math.round(Math.max(now, now - agoMs + inMs));
      return { done: doneNow, left, isExact: isExact && unknown === 0, ...(isTimed && left > 0 && { doneAt }) };
    },
    get walksDoneAt() {
      return walksDoneAt;
    },
  };
}

/**
 * Returns the finish times of a lane's first walks, by request ID. Walks take turns, so the result is empty if the lane has a walk of
 * unknown size.
 */
function walksDoneIn(lane: LaneWork, options: ForecastOptions): [request: string, doneAt: number][] {
  if ((lane.behind?.unknown ?? 0) > 0 || lane.walks.some(({ pages }) => pages === undefined)) return [];
  const done = walksDone(lane, { ...options, first: FORECAST_WALKS, concurrency: MAX_IN_WORK });
  return done.flatMap((inMs, i) => {
    const { request } = lane.walks[i] ?? {};
    return request === undefined ? [] : [[request, Math.round(options.now + inMs)]];
  });
}

export function totalProgress(all: readonly Progress[]): Progress {
  const doneAt = Math.max(0, ...all.flatMap((one) => one.doneAt ?? []));
  return {
    done: sum(all.map(({ done }) => done)),
    left: sum(all.map(({ left }) => left)),
    isExact: all.every(({ isExact }) => isExact),
    ...(doneAt > 0 && { doneAt }),
  };
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
