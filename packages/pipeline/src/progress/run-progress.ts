import type { Clock } from '@headgate/throttle';
import { type Forecast, type LaneWork, forecast } from './forecast.ts';
import type { Progress } from './run-snapshot.ts';

const FORECAST_EVERY_MS = 1_000;

interface PipelineForecast extends Forecast {
  /** Number of requests that were done at the time of the forecast. */
  readonly doneBefore: number;
}

const NOTHING_LEFT: PipelineForecast = { requests: 0, unknown: 0, inMs: 0, doneBefore: 0 };

/** How much of a run's work is done, and when all of it will be. */
export class RunProgress {
  readonly #clock: Clock;
  readonly #done: (pipeline: string) => number;
  readonly #requestMs: (pipeline: string) => number;
  #forecastAtMs = -Infinity;
  #hasChanged = true;
  #forecasts: ReadonlyMap<string, PipelineForecast> = new Map();

  /**
   * `done`: returns the number of a pipeline's HTTP requests whose results are written. `requestMs`: returns the mean time from a request to
   * its response, ms.
   */
  constructor(clock: Clock, done: (pipeline: string) => number, requestMs: (pipeline: string) => number) {
    this.#clock = clock;
    this.#done = done;
    this.#requestMs = requestMs;
  }

  /** Marks the forecast as out of date. */
  noteChange(): void {
    this.#hasChanged = true;
  }

  /** True if something has changed since the last forecast, or if that forecast is at least a second old. */
  get isDue(): boolean {
    return this.#hasChanged || this.#clock.monotonicMs() - this.#forecastAtMs >= FORECAST_EVERY_MS;
  }

  forecast(left: readonly LaneWork[]): void {
    this.#forecastAtMs = this.#clock.monotonicMs();
    this.#hasChanged = false;
    const now = this.#clock.epochMs();
    const forecastOf = (pipeline: string, lanes: readonly LaneWork[]): PipelineForecast => ({
      ...forecast(lanes, { now, requestMs: this.#requestMs(pipeline) }),
      doneBefore: this.#done(pipeline),
    });
    const byPipeline = Map.groupBy(left, ({ pipeline }) => pipeline);
    this.#forecasts = new Map(Array.from(byPipeline, ([pipeline, lanes]) => [pipeline, forecastOf(pipeline, lanes)]));
  }

  /** `isExact`: false if a lane of the pipeline has failed. `isTimed`: whether to include the expected finish time. */
  of(pipeline: string, isExact: boolean, isTimed: boolean): Progress {
    const now = this.#clock.epochMs();
    const agoMs = this.#clock.monotonicMs() - this.#forecastAtMs;
    const { requests, unknown, inMs, doneBefore } = this.#forecasts.get(pipeline) ?? NOTHING_LEFT;
    const done = this.#done(pipeline);
    const left = Math.max(0, requests - (done - doneBefore));
    const doneAt = Math.round(Math.max(now, now - agoMs + inMs));
    return { done, left, isExact: isExact && unknown === 0, ...(isTimed && left > 0 && { doneAt }) };
  }
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
