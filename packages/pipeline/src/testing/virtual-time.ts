import { setTimeout as pause } from 'node:timers/promises';
import type { VirtualClock } from '@headgate/throttle/testing';
import type { WorkRow } from '../run-model.ts';
import type { RunResult, Running } from '../start.ts';

/** A run and its clock. */
export interface DoneInVirtualTimeOptions {
  /** Started with `clock`. */
  readonly running: Running;
  /** The run's clock, and the one of its log and its service where they tell the time. */
  readonly clock: VirtualClock;
}

/**
 * Lets a run's time go by until the run has ended, and gives its result. While all its requests wait for a budget, or for their next attempt, the
 * clock jumps to the end of the wait; while one is being answered or written it goes as the machine's does, so that time limits hold for real work.
 */
export async function doneInVirtualTime({ running, clock }: DoneInVirtualTimeOptions): Promise<RunResult> {
  let result: RunResult | undefined;
  void running.done.then((ended) => {
    result = ended;
  });
  let lookedMs = performance.now();
  while (result === undefined) {
    await pause(1);
    const nowMs = performance.now();
    const until = waitEnds(running.snapshot().work);
    await clock.advance(until === undefined ? nowMs - lookedMs : Math.max(1, until - clock.epochMs()));
    lookedMs = nowMs;
  }
  return result;
}

/** When the first wait ends, epoch ms; undefined where something is done meanwhile, or nobody knows. */
function waitEnds(work: readonly WorkRow[]): number | undefined {
  let first = Infinity;
  for (const { doing } of work) {
    if (doing === undefined) continue;
    if (doing.state === 'retrying') first = Math.min(first, doing.at);
    else if (doing.state === 'waiting') first = Math.min(first, doing.until ?? Infinity);
    else return undefined;
  }
  return first === Infinity ? undefined : first;
}
