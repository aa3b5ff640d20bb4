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

/** Opens and runs the lanes that the group assigns to this process, and releases the lanes that the group revokes. */
export class LaneSupervisor {
  readonly #options: LaneSupervisorOptions;
  readonly #supervised = new Map<string, Supervised>();
  /** The latest work on each lane, by the lane's partition. A lane stays in the map after it is revoked. */
  readonly #works = new Map<string, Promise<void>>();
  readonly #failures: unknown[] = [];
  readonly #started = Promise.withResolvers<void>();
  readonly #over = Promise.withResolvers<void>();
  readonly #stop = new AbortController();
  /** Ends the work of all lanes. */
  readonly #all: AbortSignal;
  /** Cancels the scheduled end of an idle run. Set while that end is scheduled. */
  #cancelEnd: (() => void) | undefined;
  #isCertain = false;
  #assigned: number | undefined;
  #certain = Promise.withResolvers<void>();
  /** True after the run has ended. A lane that is assigned later isn't opened. */
  #isOver = false;

  constructor(options: LaneSupervisorOptions) {
    this.#options = options;
    this.#all = AbortSignal.any([options.signal, this.#stop.signal]);
  }

  /** True if a lane of this process had started a job before it was opened. */
  get hadJobs(): boolean {
    return [...this.#supervised.values()].some(({ held }) => held?.hadJobs === true);
  }

  /** Sets the partitions of this process: opens the lanes that are new, and releases those that aren't in the list. */
  assign(partitions: readonly TopicPartition[]): void {
    const wasCertain = this.#isCertain;
    this.#isCertain = true;
    this.#certain.resolve();
    this.#stay();
    if (partitions.length !== this.#assigned) this.#options.emit({ type: 'lanes-assigned', lanes: partitions.length });
    this.#assigned = partitions.length;
    const wanted = new Map(partitions.map((partition) => [`${partition.topic}-${partition.partition}`, partition]));
    for (const [name, entry] of this.#supervised) {
      if (wanted.has(name)) continue;
      this.#supervised.delete(name);
      entry.leave.abort();
    }
    // Other processes might have taken these lanes in the meantime.
    if (!wasCertain) for (const { held } of this.#supervised.values()) held?.confirm();
    for (const [name, partition] of wanted) if (!this.#supervised.has(name)) this.#begin(name, partition);
    this.#endIfIdle();
  }

  /** Call it when other processes might hold this process's lanes. A lost lane is then taken again only after the next `assign`. */
  doubt(): void {
    if (this.#isCertain) this.#certain = Promise.withResolvers();
    this.#isCertain = false;
  }

  /** Resolves when every lane assigned so far is open. If one fails, releases all lanes and throws its error. */
  async opened(): Promise<void> {
    const awaited = new Set<Supervised>();
    const more = (): readonly Supervised[] => [...this.#supervised.values()].filter((entry) => !awaited.has(entry));
    try {
      for (let lanes = more(); lanes.length > 0; lanes = more()) {
        for (const lane of lanes) awaited.add(lane);
        await Promise.all(lanes.map((lane) => lane.opened));
      }
    } catch (error) {
      await this.close();
      throw error;
    }
  }

  /** Runs the lanes until the run ends. Resolves with the errors of lanes and of the group. */
  async run(): Promise<readonly unknown[]> {
    const { lanes, follow, closed, emit } = this.#options;
    const forget = onAbort(this.#all, () => this.#endIfIdle());
    this.#started.resolve();
    if (!follow && this.#supervised.size === 0) {
      const message = `other processes of the group hold all lanes; this one ends if none is released within ${OTHERS_LIVE_MS / 1_000} s`;
      emit({ type: 'notice', level: 'info', message });
    }
    this.#endIfIdle();
    await untilAborted(closed, this.#over.promise);
    this.#isOver = true;
    this.#stay();
    if (!this.#all.aborted && this.#supervised.size < lanes) emit({ type: 'lanes-elsewhere', lanes: lanes - this.#supervised.size });
    forget();
    await this.#givenUp();
    return this.#failures;
  }

  /** Ends all work with an error of the group. */
  fail(error: unknown): void {
    this.#failures.push(error);
    this.#stop.abort();
  }

  async close(): Promise<void> {
    this.#isOver = true;
    this.#stop.abort();
    this.#stay();
    this.#started.resolve();
    await this.#givenUp();
  }

  gauges(): RunGauges {
    const all = [...this.#supervised.values()].flatMap(({ held }) => held?.gauges() ?? []);
    return {
      budgets: all.flatMap(({ budgets }) => budgets),
      credits: all.flatMap(({ credits }) => credits),
      work: all.flatMap(({ work }) => work),
      lanes: all.flatMap(({ lanes }) => lanes),
      outages: all.flatMap(({ outages }) => outages),
    };
  }

  /** The unfinished work of the lanes that this process holds, and of those that failed here. */
  left(): readonly LaneWork[] {
    return [...this.#supervised.values()].flatMap(({ held, unfinished }) => held?.left() ?? unfinished ?? []);
  }

  #begin(name: string, partition: TopicPartition): void {
    if (this.#isOver) return;
    const { laneOf } = this.#options;
    const opened = Promise.withResolvers<void>();
    const entry: Supervised = { ...laneOf(partition), leave: new AbortController(), opened: opened.promise, held: undefined, ended: false };
    this.#supervised.set(name, entry);
    opened.promise.catch(() => undefined);
    // If the lane is assigned again, open it only after the earlier work has released it.
    const work = (this.#works.get(name) ?? Promise.resolve())
      .then(() => this.#workOn(entry, opened.resolve))
      .catch((error: unknown) => {
        this.#noteFailure(entry, error);
        // A lane that the group has revoked doesn't fail the start of the run.
        if (!entry.leave.signal.aborted) opened.reject(error);
      })
      .finally(() => {
        entry.ended = true;
        opened.resolve();
        this.#endIfIdle();
      });
    this.#works.set(name, work);
  }

  #noteFailure(entry: Supervised, error: unknown): void {
    if (entry.leave.signal.aborted || this.#all.aborted) return;
    this.#failures.push(error);
    // If no other lane is at work, the run ends and reports this error itself.
    const isAnyAtWork = [...this.#supervised.values()].some((other) => other !== entry && !other.ended);
    const { pipeline, lane } = entry;
    if (isAnyAtWork) this.#options.emit({ type: 'lane-left', pipeline, lane, reason: messageOf(error), failed: true });
  }

  async #workOn(entry: Supervised, opened: () => void): Promise<void> {
    const { open, clock, emit } = this.#options;
    const { pipeline, lane } = entry;
    const leave = AbortSignal.any([entry.leave.signal, this.#all]);
    while (!leave.aborted) {
      let reason: string | undefined;
      try {
        entry.held = await open({ pipeline, lane }, leave);
        emit({ type: 'lane-opened', pipeline, lane });
        opened();
        await this.#started.promise;
        await entry.held.run(leave);
        const lost = entry.held.lost();
        // The lane has finished the requests that were left. The run still reports those that the log deleted.
        if (lost !== undefined && !leave.aborted) this.#failures.push(lost);
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
      await untilAborted(leave, this.#certain.promise);
    }
  }

  #endIfIdle(): void {
    const { lanes, follow, clock } = this.#options;
    const current = [...this.#supervised.values()];
    if (current.some(({ ended }) => !ended)) return;
    const failed = current.length > 0 && this.#failures.length > 0;
    if (this.#all.aborted || failed || (!follow && current.length >= lanes)) this.#over.resolve();
    // The group may still assign lanes of a killed process to this one, so the run ends only after a delay.
    else if (!follow) this.#cancelEnd ??= clock.schedule(OTHERS_LIVE_MS, this.#over.resolve);
  }

  #stay(): void {
    this.#cancelEnd?.();
    this.#cancelEnd = undefined;
  }

  /** Resolves when every lane is released, or when `closed` aborts. */
  async #givenUp(): Promise<void> {
    await untilAborted(this.#options.closed, Promise.allSettled(this.#works.values()));
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
