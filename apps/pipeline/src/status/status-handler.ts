import type { IncomingMessage, ServerResponse } from 'node:http';
import { basename } from 'node:path';
import type { Pipeline, Running } from '@headgate/pipeline';
import { type Clock, systemClock } from '@headgate/throttle';
import { rangeChecks } from '@headgate/throttle/internal';
import type { AvailabilityChange } from '@headgate/topics';
import { aboutProcess } from '../run/run-about.ts';
import { logEvent, runViewer } from './run-view.ts';
import { statusAnswers } from './status-answers.ts';

/** Options of {@link statusHandler}. */
export interface StatusHandlerOptions {
  /** The pipelines of the run, as passed to `start`. */
  readonly pipelines: readonly Pipeline[];
  /** The run's group, as passed to `start`. Default `headgate`. */
  readonly group?: string;
  /** The run's lanes, as passed to `start`. Default 1. */
  readonly lanes?: number;
  /** Where records go, for the page: `Kafka at kafka-1:9092`. Default: not shown. */
  readonly log?: string;
  /** Accepted names in the Host header, besides `localhost` and IP addresses. Requests with other names get status 403. Default: none. */
  readonly names?: readonly string[];
  /** The clock of the run. Default: the machine's. */
  readonly clock?: Clock;
}

/** Answers HTTP requests, at the root of a server or mounted by a framework that removes its prefix from `request.url`. Never throws. */
export interface StatusHandler extends AsyncDisposable {
  /** A listener for `createServer`. */
  (request: IncomingMessage, response: ServerResponse): void;
  /** Shows an outage of the log, or its end. Call it from the `onAvailability` of the log, because a run has no event for this. */
  onAvailability(change: AvailabilityChange): void;
  /** Stops watching the run. Resolves when open pages have had the time to look once more. */
  close(): Promise<void>;
}

/**
 * Answers GET requests about a run: `/` (the status page, or JSON if `Accept` prefers it), `/screen.json` (for the page), `/status.json`,
 * `/metrics` (Prometheus), `/livez` and `/readyz`. It only reads, and has no password: serve it only where others can't reach it.
 */
export function statusHandler(running: Pick<Running, 'events' | 'snapshot' | 'done'>, options: StatusHandlerOptions): StatusHandler {
  const { pipelines, group = 'headgate', lanes = 1, log = '', names = [], clock = systemClock() } = options;
  rangeChecks('statusHandler').whole({ lanes }, 1);
  const about = { ...aboutProcess(pipelines), config: basename(process.argv[1] ?? ''), log, group, lanes };
  const viewer = runViewer(clock, new AbortController().signal, about);
  const watching = running.events.subscribe((event) => viewer.apply(event));
  viewer.attach(running);
  void running.done.then(({ outcome, snapshot }) => viewer.end(outcome, snapshot));
  const answers = statusAnswers({
    names: names.map((name) => name.toLowerCase()),
    view: () => viewer.view(),
    clock,
    commandFor: (command, argument) => `headgate ${command} ${argument}`,
  });
  const close = async (): Promise<void> => {
    watching.unsubscribe();
    await answers.close();
  };
  return Object.assign((request: IncomingMessage, response: ServerResponse) => answers.answer(request, response), {
    onAvailability: (change: AvailabilityChange) => viewer.apply(logEvent('own', change)),
    close,
    [Symbol.asyncDispose]: close,
  });
}
