import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { type Pipeline, type RunEvent, type RunSnapshot, type Running, replayDeadLetters, start } from '@headgate/pipeline';
import { type RestSection, rest } from '@headgate/rest';
import type { Clock } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { httpService } from '../http-service.fixture.ts';

/** A virtual clock that can step to its next timer. */
export interface SteppedClock extends Clock {
  /** Advances to the next timer, if there is one, and fires it. */
  step(): Promise<void>;
}

export function steppedClock(epochMs?: number): SteppedClock {
  const clock = virtualClock(epochMs === undefined ? {} : { epochMs });
  const timers = new Map<object, number>();
  return {
    monotonicMs: () => clock.monotonicMs(),
    epochMs: () => clock.epochMs(),
    schedule(delayMs, callback) {
      const timer = {};
      timers.set(timer, clock.monotonicMs() + Math.max(0, delayMs));
      const cancel = clock.schedule(delayMs, () => {
        timers.delete(timer);
        callback();
      });
      return () => {
        timers.delete(timer);
        cancel();
      };
    },
    async step() {
      const at = Math.min(...timers.values());
      if (at < Infinity) await clock.advance(Math.max(0, at - clock.monotonicMs()));
    },
  };
}

export interface Arrival {
  /** Time of arrival by the run's clock, monotonic ms. */
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly authorization: string | undefined;
  readonly body: string;
}

export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent as JSON. Default: an empty body. */
  readonly body?: unknown;
}

export interface LoggingService extends AsyncDisposable {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** True while a request has no response. */
  readonly isBusy: boolean;
  /** True while a request is stalled. */
  readonly isStalled: boolean;
}

export interface LoggingServiceOptions {
  readonly clock: Clock;
  /** `number`: of the request, from 1. A request without an answer stalls, with what this has written to `response`. */
  readonly answer: (arrival: Arrival, number: number, response: ServerResponse) => Answer | undefined | Promise<Answer>;
}

/** A service that notes when each request arrives by the run's clock, and answers at that same instant. */
export async function loggingService({ clock, answer }: LoggingServiceOptions): Promise<LoggingService> {
  const arrivals: Arrival[] = [];
  let open = 0;
  let stalled = 0;
  const service = await httpService((request, response) => {
    open += 1;
    response.on('close', () => (open -= 1));
    const serve = async (): Promise<void> => {
      const body = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
      const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
      const { authorization } = request.headers;
      const arrival = { at: clock.monotonicMs(), method: request.method ?? '', path: pathname, query: searchParams, authorization, body };
      arrivals.push(arrival);
      const answered = await answer(arrival, arrivals.length, response);
      if (answered === undefined) {
        stalled += 1;
        response.on('close', () => (stalled -= 1));
        return;
      }
      const { status = 200, headers = {}, body: said } = answered;
      // The service has the run's time, not the machine's.
      response.sendDate = false;
      response.writeHead(status, { 'content-type': 'application/json', date: new Date(clock.epochMs()).toUTCString(), ...headers });
      response.end(said === undefined ? '' : JSON.stringify(said));
    };
    serve().catch((error: unknown) => response.destroy(error as Error));
  });
  return {
    url: service.url,
    arrivals,
    get isBusy() {
      return open > 0;
    },
    get isStalled() {
      return stalled > 0;
    },
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export interface SteppedRunOptions {
  readonly clock: SteppedClock;
  readonly services: readonly LoggingService[];
  readonly pipelines: readonly Pipeline[];
  /** Stops the run this many ms, by its clock, after its first request. Default: the run ends by itself. */
  readonly stopAfterMs?: number;
  /** Folder of the log, which earlier runs can have used. Default: a new one. */
  readonly folder?: string;
  /** Whether the pipelines' lists are worked again. Default: false. */
  readonly again?: boolean;
  /** Whether the run continues when its work is done, and repeats listings by `every`. Default: false. */
  readonly follow?: boolean;
  /** Whether dead letters are replayed first. Default: false. */
  readonly replay?: boolean;
}

export interface SteppedRun {
  /** `stopped`: after `stopAfterMs`. */
  readonly outcome: 'done' | 'stopped' | 'failed';
  /** Time at which the run has ended, monotonic ms. */
  readonly endedAt: number;
  readonly events: readonly RunEvent[];
  /** Messages of the errors of lanes that couldn't continue. */
  readonly failures: readonly string[];
  /** The last state of the run. */
  readonly snapshot: RunSnapshot;
  /** The records of a topic, as JSON, with the time at which they were written, epoch ms. */
  records(topic: string): readonly RecordOf[];
  deadLetters(pipeline: string): readonly { readonly key: string; readonly code: string; readonly message: string }[];
}

export interface RecordOf {
  readonly key: string;
  readonly value: unknown;
  readonly at: number;
}

/**
 * Runs pipelines on an embedded log. The clock stands still while a request or a write is under way, so waits are exact. It steps while a
 * request is stalled.
 */
export async function steppedRun({
  clock,
  services,
  pipelines,
  stopAfterMs = Infinity,
  folder: given,
  again = false,
  replay = false,
  follow = false,
}: SteppedRunOptions): Promise<SteppedRun> {
  const folder = given ?? (await mkdtemp(join(tmpdir(), 'headgate-report-')));
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db'), now: () => clock.epochMs() });
  const events: RunEvent[] = [];
  const stop = new AbortController();
  let running: Running | undefined;
  try {
    for (const { definition } of replay ? pipelines : []) await replayDeadLetters({ log, requests: definition.requests });
    running = await start({ log, pipelines, clock, env: {}, follow, signal: stop.signal, onEvent: (event) => void events.push(event) });
    const { done } = running;
    for (const pipeline of again ? pipelines : [])
      await running.enqueue(
        pipeline.name,
        Array.from(pipeline.listed(), ({ value }) => JSON.parse(value) as never),
      );
    let isTimed = stopAfterMs === Infinity;
    const isAnyBusy = (run: Running): boolean => {
      // A slow machine opens the run later, so its time counts from the first request.
      if (!isTimed && services.some(({ arrivals }) => arrivals.length > 0)) {
        isTimed = true;
        clock.schedule(stopAfterMs, () => stop.abort());
      }
      if (services.some(({ isStalled }) => isStalled)) return false;
      return services.some(({ isBusy: busy }) => busy) || isBusy(run);
    };
    const begun = running;
    await stepped(clock, () => isAnyBusy(begun), done);
    const { outcome, failures } = await done;
    const endedAt = clock.monotonicMs();
    const snapshot = running.snapshot();
    const topics = pipelines.flatMap(({ name, topics: own }) => [...Object.keys(own), 'dead-letters'].map((topic) => `${name}.${topic}`));
    const read = new Map<string, RecordOf[]>();
    for (const topic of topics) {
      const records: RecordOf[] = [];
      for await (const { key, value, timestampMs } of log.read({ topic })) {
        records.push({ key: key ?? '', value: JSON.parse(value ?? 'null'), at: timestampMs });
      }
      read.set(topic, records);
    }
    const records = (topic: string): readonly RecordOf[] => read.get(topic) ?? [];
    return {
      outcome: failures.length > 0 ? 'failed' : outcome === 'stopped' ? 'stopped' : 'done',
      endedAt,
      events,
      failures: failures.map(String),
      snapshot,
      records,
      deadLetters: (pipeline) =>
        records(`${pipeline}.dead-letters`).map(({ key, value }) => ({
          key,
          ...(value as { error: { code: string; message: string } }).error,
        })),
    };
  } finally {
    await running?.stop();
    await log.close();
    if (given === undefined) await rm(folder, { recursive: true, force: true });
  }
}

/** Steps the clock until the promise has settled, but not while something is busy. Returns the promise's error, if it rejects. */
export async function stepped(clock: SteppedClock, isAnyBusy: () => boolean, promise: Promise<unknown>): Promise<unknown> {
  let isDone = false;
  const ended = promise.then(
    () => void (isDone = true),
    (error: unknown) => {
      isDone = true;
      return error;
    },
  );
  for (let quiet = 0; !isDone;) {
    await pause(1);
    quiet = isAnyBusy() ? 0 : quiet + 1;
    if (quiet >= QUIET_TURNS) await clock.step();
  }
  return await ended;
}

/** A write on the log's thread can begin shortly after a request has ended. */
const QUIET_TURNS = 4;

function isBusy(running: Running): boolean {
  return running.snapshot().work.some(({ doing }) => ['requesting', 'writing', 'behind'].includes(doing?.state ?? ''));
}

/** A section with one credential, a limit that can't matter, and one listing of `/items`. */
export function itemsSection(url: string, more: Partial<Parameters<RestSection>[0]> = {}): Pipeline {
  const streams = { items: { get: '/items', key: '$.id' } };
  return rest('shop')({ baseUrl: url, credentials: [{ name: 'anyone' }], limit: { requests: 1_000, window: '1s' }, streams, ...more });
}
