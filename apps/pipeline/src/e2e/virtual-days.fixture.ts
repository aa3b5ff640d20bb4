import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Pipeline, type RunEvent, type RunResult, type Running, start } from '@headgate/pipeline';
import { sqliteTopicLog } from '@headgate/topics/sqlite';
import type { TopicLog } from '@headgate/topics';
import { type SkippingClock, skippingClock } from './fuzz/skipping-clock.fixture.ts';

export const DAY_MS = 86_400_000;

export interface VirtualDays extends AsyncDisposable {
  readonly clock: SkippingClock;
  readonly log: TopicLog;
  readonly running: Running;
  /** Resolves when this much virtual time has passed since the start. */
  until(ms: number): Promise<void>;
  stop(): Promise<RunResult>;
}

export interface VirtualDaysOptions {
  readonly pipelines: readonly Pipeline[];
  readonly onEvent: (event: RunEvent, clock: SkippingClock) => void;
}

/** Runs pipelines for virtual days, as `run --follow` does, on an embedded log and against real servers. Skips the time without work. */
export async function virtualDays({ pipelines, onEvent }: VirtualDaysOptions): Promise<VirtualDays> {
  const folder = await mkdtemp(join(tmpdir(), 'headgate-days-'));
  let running: Running | undefined;
  // Responses and commits take real time, so the clock doesn't skip while work waits for one.
  const isBusy = (): boolean =>
    running === undefined || running.snapshot().work.some(({ doing }) => ['requesting', 'writing', 'behind'].includes(doing?.state ?? ''));
  const clock = skippingClock({ isBusy });
  const log = await sqliteTopicLog({ file: join(folder, 'headgate.db'), now: () => clock.epochMs() });
  const startedAt = clock.monotonicMs();
  const begun = await start({
    log,
    pipelines,
    follow: true,
    clock,
    env: {},
    onEvent(event) {
      clock.touch();
      onEvent(event, clock);
    },
  });
  running = begun;
  return {
    clock,
    log,
    running: begun,
    async until(ms) {
      // Polls, because a timer on the clock would make it skip ahead while a list is still being enqueued.
      while (clock.monotonicMs() < startedAt + ms) await sleep(1);
    },
    stop: () => begun.stop(),
    async [Symbol.asyncDispose]() {
      await begun.stop();
      await log.close();
      clock[Symbol.dispose]();
      await rm(folder, { recursive: true });
    },
  };
}
