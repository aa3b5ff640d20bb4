import type { Clock } from '@headgate/throttle';
import { type Forecast, type LaneWork, forecast } from './forecast.ts';
import type { Progress } from './run-snapshot.ts';

const FORECAST_EVERY_MS = 1_000;

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
}

interface PipelineForecast extends Forecast {
  /** Number of requests that were done at the time of the forecast. */
  readonly doneBefore: number;
}

const NOTHING_LEFT: PipelineForecast = { requests: 0, unknown: 0, inMs: 0, doneBefore: 0 };

export function runProgress({ clock, done, requestMs: meanMs }: RunProgressOptions): RunProgress {
  let forecastAtMs = -Infinity;
  let hasChanged = true;
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
      forecasts = new Map(
        byPipeline.map(([pipeline, lanes]) => [
          pipeline,
          { ...forecast(lanes, { now, requestMs: meanMs(pipeline) }), doneBefore: done(pipeline) },
        ]),
      );
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
  };
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
