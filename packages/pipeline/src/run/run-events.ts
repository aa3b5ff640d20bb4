import type { Clock } from '@headgate/throttle';
import type { Observable } from 'rxjs';
import type { Pipeline } from '../definition/pipeline.ts';
import { eventStream } from '../events/event-stream.ts';
import type { LaneGauge, RunEvent } from '../events/events.ts';
import { RunModel } from '../progress/run-model.ts';
import { refusalWatch } from './refusal-watch.ts';
import { serviceWatch } from './service-watch.ts';

/** Passes the events of a run to its model, to the subscribers of `Running.events`, and to `onEvent`. */
export class RunEvents {
  readonly model: RunModel;
  readonly #onEvent: ((event: RunEvent) => void) | undefined;
  readonly #stream = eventStream();
  readonly #watchService: ReturnType<typeof serviceWatch>;
  readonly #watchRefusals: ReturnType<typeof refusalWatch>;
  /** The lanes that this run has opened and that it hasn't left, for the last snapshot: released lanes have no gauges. */
  readonly #worked = new Map<string, LaneGauge>();
  #isObserverBroken = false;

  constructor(clock: Clock, pipelines: readonly Pipeline[], onEvent: ((event: RunEvent) => void) | undefined) {
    this.model = new RunModel(clock, pipelines);
    this.#onEvent = onEvent;
    this.#watchService = serviceWatch(this.model, this.emit);
    this.#watchRefusals = refusalWatch(pipelines, this.emit);
  }

  get all(): Observable<RunEvent> {
    return this.#stream.events;
  }

  readonly emit = (event: RunEvent): void => {
    this.#noteLane(event);
    this.model.apply(event);
    this.#stream.emit(event);
    try {
      this.#onEvent?.(event);
    } catch (error) {
      if (!this.#isObserverBroken) {
        this.#isObserverBroken = true;
        this.notice('warn', `onEvent threw ${String(error)}. Headgate still calls it for later events. Fix it.`);
      }
    }
    if (event.type === 'attempt') {
      this.#watchService(event);
      this.#watchRefusals(event);
    }
    if (event.type === 'service-unavailable' && this.#onEvent === undefined && !this.#stream.isObserved) warnOf(event);
  };

  notice(level: 'info' | 'warn', message: string): void {
    this.emit({ type: 'notice', level, message });
  }

  /** Completes `all`. */
  complete(): void {
    this.#stream.complete();
  }

  /** Returns the lanes that this run hasn't left, as they were in `seen`, without work in progress. */
  endedLanes(seen: readonly LaneGauge[]): readonly LaneGauge[] {
    const isSame = (a: LaneGauge, b: LaneGauge): boolean => a.pipeline === b.pipeline && a.lane === b.lane;
    return [...this.#worked.values()].map((lane) => ({ ...lane, ...seen.find((last) => isSame(last, lane)), inWork: 0, keys: 0 }));
  }

  #noteLane(event: RunEvent): void {
    if (event.type !== 'lane-opened' && event.type !== 'lane-left') return;
    const { type, pipeline, lane } = event;
    const name = `${pipeline}/${lane}`;
    if (type === 'lane-left') this.#worked.delete(name);
    else this.#worked.set(name, { pipeline, lane, inWork: 0, behind: 0, isCounted: true, keys: 0 });
  }
}

/** Tells the user of a run without an observer why nothing happens. */
function warnOf({ pipeline, reason }: Extract<RunEvent, { type: 'service-unavailable' }>): void {
  process.emitWarning(
    `${pipeline}: every attempt fails (${reason}). The run retries. Pass onEvent to start, or subscribe to its events, to follow it.`,
  );
}
