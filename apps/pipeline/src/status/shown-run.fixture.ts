import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { type Pipeline, type RunResult, start } from '@headgate/pipeline';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import type { AvailabilityChange, LaneWriter, TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect } from 'vitest';
import { logWith } from '../run/log-with.fixture.ts';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { liveFrame } from './live-display.ts';
import { createReporter } from './reporter.ts';
import type { DisplayEvent } from './display-event.ts';
import { type RunAbout, type RunView, logEvent, runViewer } from './run-view.ts';
import { summaryText } from './summary-text.ts';
import { createTimeWords } from './text/time-words.ts';

export interface Place extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly log: TopicLog;
  /** Blocks all transactions until the returned function is called. */
  holdWrites(): () => void;
  /** Makes the next transaction of a pipeline's lane fail with this error. */
  failWrite(pipeline: string, error: Error): void;
  /** Locks the log's file as another process would, until the returned function is called. */
  lockFile(): () => void;
  /** Limits the lanes that the group assigns to the run: this many per pipeline, until the next call. */
  assign(lanes: number): void;
  /**
   * Runs pipelines as `headgate run` does, with all displays. With `lines: false`, the plain lines and the JSON lines are left out, because
   * they read the run at every second of virtual time. Default: true.
   */
  run(
    pipelines: readonly Pipeline[],
    options?: { readonly follow?: boolean; readonly lanes?: number; readonly lines?: boolean },
  ): Promise<ShownRun>;
}

export interface ShownRun {
  view(): RunView;
  /** The live display without its header. Default size: 99 columns and 30 rows. */
  frame(size?: { readonly columns?: number; readonly rows?: number }): readonly string[];
  /** The header of the live display: what runs, which lanes it holds if that matters, and for how long. */
  header(size?: { readonly columns?: number; readonly rows?: number }): string;
  summary(): string;
  /** Everything that the plain lines and the JSON lines have written. */
  readonly plain: FakeTerminal;
  readonly json: FakeTerminal;
  /** Epoch ms at which the last page or the last response for keys was written. */
  lastAnswerAt(): number;
  /** Resolves when a line of the frame matches. */
  shows(line: RegExp): Promise<void>;
  /** Stops the run as Ctrl-C does. */
  stop(): void;
  /** Advances the clock whenever all remaining work waits for virtual time, after a call of `onWait`. Resolves when the run has ended. */
  finish(onWait?: (view: RunView) => void): Promise<RunResult>;
}

export const START = Date.UTC(2026, 2, 10, 10, 0, 0);

export const ABOUT: RunAbout = {
  version: '1.2.3',
  host: 'host-a',
  pid: 12,
  config: 'headgate.yaml',
  log: 'headgate.db',
  group: 'headgate',
  lanes: 1,
  pipelines: [{ name: 'followers', credentials: ['app'], maxOutstanding: 20_000 }],
};

/** An embedded log on which tests watch runs in virtual time. */
export async function place(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-shown-'));
  const clock = virtualClock({ epochMs: START });
  const file = join(folder, 'headgate.db');
  let tell: (change: AvailabilityChange) => void = () => undefined;
  const embedded = await sqliteTopicLog({
    file,
    now: () => Math.floor(clock.epochMs()),
    busyTimeoutMs: 100,
    // The log takes `sinceMs` from the machine's clock.
    onAvailability: (change) => tell(change.available ? change : { ...change, sinceMs: clock.epochMs() }),
  });
  const runs: { readonly stop: () => void; readonly done: Promise<RunResult> }[] = [];
  let held: Promise<void> | undefined;
  let failing: { readonly pipeline: string; readonly error: Error } | undefined;
  let assigned = Infinity;
  let share = (): void => undefined;
  const holding = (lane: LaneWriter, name: string): LaneWriter =>
    new Proxy(lane, {
      get(target, property) {
        const value: unknown = Reflect.get(target, property, target);
        if (typeof value !== 'function') return value;
        // In Node 24, `await using` doesn't accept a bound function as the dispose method.
        if (property !== 'transaction') return (...given: unknown[]): unknown => Reflect.apply(value, target, given);
        return async (...given: unknown[]): Promise<unknown> => {
          await held;
          if (failing !== undefined && name.includes(failing.pipeline)) {
            const { error } = failing;
            failing = undefined;
            throw error;
          }
          return (await value.apply(target, given)) as unknown;
        };
      },
    });
  const log = logWith(embedded, {
    openLane: async (lane, signal) => holding(await embedded.openLane(lane, signal), lane.name),
    async joinGroup(options) {
      return await embedded.joinGroup({
        ...options,
        onAssigned(partitions) {
          share = () => options.onAssigned(partitions.filter(({ partition }) => partition < assigned));
          share();
        },
      });
    },
  });

  return {
    clock,
    log,
    holdWrites() {
      const gate = Promise.withResolvers<void>();
      held = gate.promise;
      return () => {
        held = undefined;
        gate.resolve();
      };
    },
    failWrite(pipeline, error) {
      failing = { pipeline, error };
    },
    lockFile() {
      const other = new DatabaseSync(file);
      other.exec('BEGIN IMMEDIATE');
      return () => other.close();
    },
    assign(lanes) {
      assigned = lanes;
      share();
    },
    async run(pipelines, { follow = false, lanes = 1, lines = true } = {}) {
      const stopping = new AbortController();
      const viewer = runViewer(clock, stopping.signal, ABOUT);
      const [plain, json] = [new FakeTerminal(), new FakeTerminal()];
      const view = (): RunView => viewer.view();
      const units = Object.fromEntries(pipelines.map(({ name, unit }) => [name, unit]));
      const shown = {
        clock,
        view,
        units,
        header: 'headgate run',
        live: false,
        color: false,
        commandFor: (command: string, argument: string) => `headgate ${command} ${argument}`,
        timeZone: 'UTC' as const,
      };
      const reporters = lines
        ? [await createReporter({ ...shown, stderr: plain, json: false }), await createReporter({ ...shown, stderr: json, json: true })]
        : [];
      let lastAnswerAt = Number.NaN;
      let events = 0;
      const onEvent = (event: DisplayEvent): void => {
        events += 1;
        if (event.type === 'page-written' || event.type === 'keys-answered') lastAnswerAt = clock.epochMs();
        viewer.apply(event);
        for (const reporter of reporters) reporter.event(event);
      };
      tell = (change) => onEvent(logEvent('sqlite', change));
      const running = await start({
        log,
        pipelines,
        follow,
        lanes,
        signal: stopping.signal,
        clock,
        env: {},
        onEvent,
      });
      viewer.attach(running);
      let isOver = false;
      let outcome: RunResult['outcome'] = 'done';
      const done = running.done.then((result) => {
        isOver = true;
        outcome = result.outcome;
        viewer.end(outcome, result.snapshot);
        for (const reporter of reporters) reporter.close();
        return result;
      });
      runs.push({ stop: () => stopping.abort(), done });
      const all = ({ columns = 99, rows = 30 }: { readonly columns?: number; readonly rows?: number } = {}): readonly string[] =>
        liveFrame({ ...shown, view: view(), columns, rows, times: createTimeWords(shown) });
      const frame: ShownRun['frame'] = (size) => all(size).slice(1);
      return {
        view,
        frame,
        header: (size) => all(size)[0] ?? '',
        summary: () => summaryText({ ...shown, view: view(), outcome }),
        plain,
        json,
        lastAnswerAt: () => lastAnswerAt,
        async shows(line) {
          await expect.poll(() => frame().join('\n')).toMatch(line);
        },
        stop: () => stopping.abort(),
        async finish(onWait = () => undefined) {
          for (let i = 0; i < 20_000 && !isOver; i += 1) {
            const before = events;
            await new Promise((resolve) => setTimeout(resolve, 1));
            // The run is busy. Its view isn't read now, because that takes time.
            if (events !== before) continue;
            const now = view();
            const doing = now.work.flatMap((row) => row.doing ?? []);
            const isWaiting = doing.length > 0 && doing.every(({ state }) => state === 'waiting' || state === 'retrying');
            const times = [
              ...now.budgets.map(({ freeAt }) => freeAt),
              ...doing.map((one) => (one.state === 'retrying' ? one.at : undefined)),
            ];
            const until = Math.min(...times.flatMap((at) => (at !== undefined && at > now.now ? [at] : [])));
            if (isWaiting) onWait(now);
            if (isWaiting && until < Infinity) await clock.advance(until - now.now);
            // A wait can take longer than expected.
            else if (isWaiting) await clock.advance(5);
            // The supervisor and the lanes check their topics at intervals of virtual time.
            else if (doing.length === 0) await clock.advance(250);
          }
          if (!isOver) throw new Error(`the run does not end: ${frame().join('\n')}`);
          return await done;
        },
      };
    },
    async [Symbol.asyncDispose]() {
      for (const { stop, done } of runs) {
        stop();
        let isOver = false;
        done.then(
          () => (isOver = true),
          () => (isOver = true),
        );
        for (let i = 0; i < 1_000 && !isOver; i += 1) {
          await clock.advance(1_000);
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      }
      await embedded.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
