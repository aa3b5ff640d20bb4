import type { Clock } from '@headgate/throttle';
import { onAbort, pause, untilAborted } from '@headgate/throttle/internal';
import { LaneLostError, type TopicPartition } from '@headgate/topics';
import type { RunEvent, RunGauges } from '../events/events.ts';
import type { LaneWork } from '../progress/forecast.ts';
import type { PipelineLane } from './pipeline-lane.ts';

export interface LaneName {
  readonly pipeline: string;
  readonly lane: number;
}

export interface LaneSupervisorOptions {
  readonly open: (lane: LaneName, signal: AbortSignal) => Promise<PipelineLane>;
  readonly laneOf: (partition: TopicPartition) => LaneName;
  /** Number of lanes that the group distributes among its processes. */
  readonly lanes: number;
  /** Wait for new jobs when all are finished. */
  readonly follow: boolean;
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
  /** Aborts when the supervisor must no longer wait for lanes to close. */
  readonly closed: AbortSignal;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
}

/** Opens and runs the lanes that the group assigns to this process, and releases the lanes that the group revokes. */
export interface LaneSupervisor {
  /** Sets the partitions of this process: opens the lanes that are new, and releases those that aren't in the list. */
  assign(partitions: readonly TopicPartition[]): void;
  /** Call it when other processes might hold this process's lanes. A lost lane is then taken again only after the next `assign`. */
  doubt(): void;
  /** Resolves when every lane assigned so far is open. If one fails, releases all lanes and throws its error. */
  opened(): Promise<void>;
  /** Runs the lanes until the run ends. Resolves with the errors of lanes and of the group. */
  run(): Promise<readonly unknown[]>;
  /** Ends all work with an error of the group. */
  fail(error: unknown): void;
  close(): Promise<void>;
  gauges(): RunGauges;
  /** The unfinished work of the lanes that this process holds, and of those that failed here. */
  left(): readonly LaneWork[];
}

interface Supervised extends LaneName {
  readonly leave: AbortController;
  readonly opened: Promise<void>;
  held: PipelineLane | undefined;
  /** The work that was unfinished when the lane failed. */
  unfinished?: LaneWork | undefined;
  ended: boolean;
}

/** Delay before another attempt to open a lane that another process has taken over. */
const LANE_AGAIN_MS = 1_500;
/**
 * Time that an idle process waits for lanes of a killed one, in ms. The group takes several seconds to notice that a process was killed.
 */
const OTHERS_LIVE_MS = 8_000;

export function laneSupervisor({ open, laneOf, lanes, follow, signal, closed, clock, emit }: LaneSupervisorOptions): LaneSupervisor {
  const supervised = new Map<string, Supervised>();
  /** The latest work on each lane, by the lane's partition. A lane stays in the map after it is revoked. */
  const works = new Map<string, Promise<void>>();
  const failures: unknown[] = [];
  const started = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const stop = new AbortController();
  /** Cancels the scheduled end of an idle run. Set while that end is scheduled. */
  let cancelEnd: (() => void) | undefined;
  let isCertain = false;
  let assigned: number | undefined;
  let certain = Promise.withResolvers<void>();
  /** True after the run has ended. A lane that is assigned later isn't opened. */
  let isOver = false;
  const all = AbortSignal.any([signal, stop.signal]);

  const endIfIdle = (): void => {
    const current = [...supervised.values()];
    if (current.some(({ ended }) => !ended)) return;
    const failed = current.length > 0 && failures.length > 0;
    if (all.aborted || failed || (!follow && current.length >= lanes)) over.resolve();
    // The group may still assign lanes of a killed process to this one, so the run ends only after a delay.
    else if (!follow) cancelEnd ??= clock.schedule(OTHERS_LIVE_MS, over.resolve);
  };
  const stay = (): void => {
    cancelEnd?.();
    cancelEnd = undefined;
  };

  const isAnyAtWork = (but: Supervised): boolean => [...supervised.values()].some((entry) => entry !== but && !entry.ended);

  const begin = (name: string, partition: TopicPartition): void => {
    if (isOver) return;
    const opened = Promise.withResolvers<void>();
    const entry: Supervised = { ...laneOf(partition), leave: new AbortController(), opened: opened.promise, held: undefined, ended: false };
    supervised.set(name, entry);
    opened.promise.catch(() => undefined);
    // If the lane is assigned again, open it only after the earlier work has released it.
    const work = (works.get(name) ?? Promise.resolve())
      .then(() => workOn(entry, opened.resolve))
      .catch((error: unknown) => {
        if (!entry.leave.signal.aborted && !all.aborted) {
          failures.push(error);
          // If no other lane is at work, the run ends and reports this error itself.
          if (isAnyAtWork(entry))
            emit({ type: 'lane-left', pipeline: entry.pipeline, lane: entry.lane, reason: messageOf(error), failed: true });
        }
        // A lane that the group has revoked doesn't fail the start of the run.
        if (!entry.leave.signal.aborted) opened.reject(error);
      })
      .finally(() => {
        entry.ended = true;
        opened.resolve();
        endIfIdle();
      });
    works.set(name, work);
  };

  const workOn = async (entry: Supervised, opened: () => void): Promise<void> => {
    const { pipeline, lane } = entry;
    const leave = AbortSignal.any([entry.leave.signal, all]);
    while (!leave.aborted) {
      let reason: string | undefined;
      try {
        entry.held = await open({ pipeline, lane }, leave);
        emit({ type: 'lane-opened', pipeline, lane });
        opened();
        await started.promise;
        await entry.held.run(leave);
        const lost = entry.held.lost();
        // The lane has finished the requests that were left. The run still reports those that the log deleted.
        if (lost !== undefined && !leave.aborted) failures.push(lost);
      } catch (error) {
        if (error instanceof LaneLostError) reason = `${error.by ?? 'another process'} has taken it over`;
        else {
          entry.unfinished = entry.held?.left();
          throw error;
        }
      } finally {
        const { held } = entry;
        entry.held = undefined;
        await held?.close();
      }
      if (reason !== undefined || entry.leave.signal.aborted)
        emit({ type: 'lane-left', pipeline, lane, ...(reason !== undefined && { reason }) });
      if (reason === undefined) return;
      await untilAborted(leave, pause({ clock, ms: LANE_AGAIN_MS, signal: leave }));
      await untilAborted(leave, certain.promise);
    }
  };

  /** Resolves when every lane is released, or when `closed` aborts. */
  const givenUp = async (): Promise<void> => await untilAborted(closed, Promise.allSettled(works.values()));

  const held = (): readonly PipelineLane[] => [...supervised.values()].flatMap((entry) => entry.held ?? []);

  const close = async (): Promise<void> => {
    isOver = true;
    stop.abort();
    stay();
    started.resolve();
    await givenUp();
  };

  return {
    doubt() {
      if (isCertain) certain = Promise.withResolvers();
      isCertain = false;
    },
    assign(partitions) {
      const wasCertain = isCertain;
      isCertain = true;
      certain.resolve();
      stay();
      if (partitions.length !== assigned) emit({ type: 'lanes-assigned', lanes: partitions.length });
      assigned = partitions.length;
      const wanted = new Map(partitions.map((partition) => [`${partition.topic}-${partition.partition}`, partition]));
      for (const [name, entry] of supervised) {
        if (wanted.has(name)) continue;
        supervised.delete(name);
        entry.leave.abort();
      }
      // Other processes might have taken these lanes in the meantime.
      if (!wasCertain) for (const { held } of supervised.values()) held?.confirm();
      for (const [name, partition] of wanted) if (!supervised.has(name)) begin(name, partition);
      endIfIdle();
    },
    async opened() {
      const awaited = new Set<Supervised>();
      const more = (): readonly Supervised[] => [...supervised.values()].filter((entry) => !awaited.has(entry));
      try {
        for (let lanes = more(); lanes.length > 0; lanes = more()) {
          for (const lane of lanes) awaited.add(lane);
          await Promise.all(lanes.map((lane) => lane.opened));
        }
      } catch (error) {
        await close();
        throw error;
      }
    },
    async run() {
      const forget = onAbort(all, endIfIdle);
      started.resolve();
      if (!follow && supervised.size === 0) {
        emit({
          type: 'notice',
          level: 'info',
          message: `other processes of the group hold all lanes; this one ends if none is released within ${OTHERS_LIVE_MS / 1_000} s`,
        });
      }
      endIfIdle();
      await untilAborted(closed, over.promise);
      isOver = true;
      stay();
      if (!all.aborted && supervised.size < lanes) emit({ type: 'lanes-elsewhere', lanes: lanes - supervised.size });
      forget();
      await givenUp();
      return failures;
    },
    fail(error) {
      failures.push(error);
      stop.abort();
    },
    close,
    gauges() {
      const all = held().map((lane) => lane.gauges());
      return {
        budgets: all.flatMap(({ budgets }) => budgets),
        credits: all.flatMap(({ credits }) => credits),
        work: all.flatMap(({ work }) => work),
        lanes: all.flatMap(({ lanes: some }) => some),
        outages: all.flatMap(({ outages }) => outages),
      };
    },
    left: () => [...supervised.values()].flatMap(({ held, unfinished }) => held?.left() ?? unfinished ?? []),
  };
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
