import { setTimeout as pause } from 'node:timers/promises';
import type { VirtualClock } from '@headgate/throttle/testing';
import type { LaneGauge } from '../events/events.ts';
import type { WorkRow } from '../progress/run-snapshot.ts';
import type { RunResult, Running } from '../run/start.ts';

/** A run and its clock. */
export interface DoneInVirtualTimeOptions {
  /** The run, started with `clock`. */
  readonly running: Running;
  /** The run's clock. Pass it to the log and the service if they read the time. */
  readonly clock: VirtualClock;
}

/**
 * Minimum and maximum of the clock's steps while a run has nothing to do, in ms. The steps are small, because a list can become due at any
 * time.
 */
const IDLE_STEP_MS = { least: 1_000, most: 60_000 };

/**
 * Advances a run's clock until the run has ended, and returns its result, or rejects as the run does. If all work waits, and the end of a
 * wait is known, the clock jumps to that end. If there is no work, the clock moves in steps of 1 s to 1 min, until a list is due.
 * Otherwise, it moves like the machine's clock, so that time limits apply to real work.
 */
export async function doneInVirtualTime({ running, clock }: DoneInVirtualTimeOptions): Promise<RunResult> {
  let isDone = false;
  const end = (): void => {
    isDone = true;
  };
  running.done.then(end, end);
  let lookedMs = performance.now();
  let idleSince: number | undefined;
  while (!isDone) {
    await pause(1);
    const nowMs = performance.now();
    const { work, lanes } = running.snapshot();
    const until = waitEnds(work);
    idleSince = isIdle(lanes) ? (idleSince ?? clock.monotonicMs()) : undefined;
    if (until !== undefined) await clock.advance(Math.max(1, until - clock.epochMs()));
    else if (idleSince === undefined) await clock.advance(nowMs - lookedMs);
    else await clock.advance(Math.min(IDLE_STEP_MS.most, Math.max(IDLE_STEP_MS.least, (clock.monotonicMs() - idleSince) / 20)));
    lookedMs = nowMs;
  }
  return await running.done;
}

/** True if all lanes wait for new requests. */
function isIdle(lanes: readonly LaneGauge[]): boolean {
  return lanes.length > 0 && lanes.every(({ inWork, behind, keys }) => inWork + behind + keys === 0);
}

/** Returns the earliest known end of the waits, epoch ms. Undefined if some work doesn't wait, or if no end is known. */
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
