import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Pipeline, type RunResult, start } from '@headgate/pipeline';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import type { LaneWriter, TopicLog } from '@headgate/topics';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import { expect } from 'vitest';
import { logWith } from '../run/log-with.fixture.ts';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { liveFrame } from './live-display.ts';
import { createReporter } from './reporter.ts';
import { type RunView, runViewer } from './run-view.ts';
import { createTimeWords } from './text/time-words.ts';

export interface Place extends AsyncDisposable {
  readonly clock: VirtualClock;
  readonly log: TopicLog;
  /** Lets no transaction be written until the function it returns is called. */
  holdWrites(): () => void;
  /** Runs pipelines, as `headgate run` does, and watches all displays. */
  run(pipelines: readonly Pipeline[], options?: { readonly follow?: boolean }): Promise<ShownRun>;
}

export interface ShownRun {
  view(): RunView;
  /** The live display's lines, 100 cells wide and 30 high, without the first: it names a folder. */
  frame(): readonly string[];
  /** All that the plain lines and the JSON lines have said. */
  readonly plain: FakeTerminal;
  readonly json: FakeTerminal;
  /** Epoch ms when the last page, or answer for keys, was written. */
  lastAnswerAt(): number;
  /** Resolves when a line of the frame matches, as requests are answered in real time. */
  shows(line: RegExp): Promise<void>;
  /** As Ctrl-C does. */
  stop(): void;
  /** Lets time go by whenever all that is left waits for it; `onWait` is told before. Resolves to the end of the run. */
  finish(onWait?: (view: RunView) => void): Promise<RunResult>;
}

export const START = Date.UTC(2026, 2, 10, 10, 0, 0);

/** An embedded log on which runs are watched in virtual time. */
export async function place(): Promise<Place> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-shown-'));
  const clock = virtualClock({ epochMs: START });
  const embedded = await sqliteTopicLog({ file: join(folder, 'headgate.db'), now: () => Math.floor(clock.epochMs()) });
  const runs: { readonly stop: () => void; readonly done: Promise<RunResult> }[] = [];
  let held: Promise<void> | undefined;
  const holding = (lane: LaneWriter): LaneWriter =>
    new Proxy(lane, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (name !== 'transaction' || typeof value !== 'function') return typeof value === 'function' ? value.bind(target) : value;
        return async (...given: unknown[]): Promise<unknown> => {
          await held;
          return (await value.apply(target, given)) as unknown;
        };
      },
    });
  const log = logWith(embedded, { openLane: async (lane, signal) => holding(await embedded.openLane(lane, signal)) });

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
    async run(pipelines, { follow = false } = {}) {
      const stopping = new AbortController();
      const viewer = runViewer({ clock, signal: stopping.signal });
      const [plain, json] = [new FakeTerminal(), new FakeTerminal()];
      const view = (): RunView => viewer.view();
      const units = Object.fromEntries(pipelines.map(({ name, unit }) => [name, unit]));
      const shown = {
        clock,
        view,
        units,
        header: 'headgate run',
        color: false,
        readCommand: (topic: string) => `headgate read ${topic}`,
        timeZone: 'UTC',
      };
      const reporters = [
        await createReporter({ ...shown, stderr: plain, json: false }),
        await createReporter({ ...shown, stderr: json, json: true }),
      ];
      const running = await start({
        log,
        pipelines,
        follow,
        signal: stopping.signal,
        clock,
        env: {},
        onEvent(event) {
          viewer.apply(event);
          for (const reporter of reporters) reporter.event(event);
        },
      });
      viewer.attach(running);
      let isOver = false;
      const done = running.done.then((result) => {
        isOver = true;
        viewer.end(result.snapshot);
        for (const reporter of reporters) reporter.close();
        return result;
      });
      runs.push({ stop: () => stopping.abort(), done });
      const frame = (): readonly string[] =>
        liveFrame({ ...shown, view: view(), columns: 99, rows: 30, times: createTimeWords(shown) }).slice(1);
      return {
        view,
        frame,
        plain,
        json,
        lastAnswerAt() {
          const line = json.lines.findLast((one) => /"event":"(?:page-written|keys-answered)"/u.test(one)) ?? '{}';
          return Date.parse((JSON.parse(line) as { time?: string }).time ?? '');
        },
        async shows(line) {
          await expect.poll(() => frame().join('\n'), { timeout: 20_000 }).toMatch(line);
        },
        stop: () => stopping.abort(),
        async finish(onWait = () => undefined) {
          for (let i = 0; i < 20_000 && !isOver; i += 1) {
            await new Promise((resolve) => setTimeout(resolve, 1));
            const now = view();
            const doing = now.work.flatMap((row) => row.doing ?? []);
            const isWaiting = doing.length > 0 && doing.every(({ state }) => state === 'waiting' || state === 'retrying');
            const until = Math.min(...now.budgets.flatMap(({ freeAt }) => (freeAt !== undefined && freeAt > now.now ? [freeAt] : [])));
            if (isWaiting) onWait(now);
            if (isWaiting && until < Infinity) await clock.advance(until - now.now);
            // The supervisor and the lanes look at their topics from time to time.
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
