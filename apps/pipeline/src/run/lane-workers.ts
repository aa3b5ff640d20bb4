import type { Clock } from '@headgate/throttle';
import { LaneLostError, type TopicPartition } from '@headgate/topics';
import { aborted, pause } from '../lanes/pause.ts';
import { TOPICS } from '../records/topic-names.ts';
import type { RunEvent, RunGauges, ServiceName } from '../status/run-event.ts';
import { errorText } from './error-text.ts';
import { LaneOutgrownError } from './lane-outgrown-error.ts';
import type { ServiceLane } from './service-lane.ts';

export interface LaneWorkersOptions {
  readonly open: (service: ServiceName, lane: number, signal: AbortSignal) => Promise<ServiceLane>;
  /** How many lanes the group shares out. */
  readonly lanes: number;
  /** Stay when nothing is left. */
  readonly follow: boolean;
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
}

/** Those who work the lanes that are this process's, as lanes come and go. */
export interface LaneWorkers {
  /** These partitions are ours, and no others: lanes that have come are opened, those that have gone are given up. */
  assign(partitions: readonly TopicPartition[]): void;
  /** They may be others' by now: no lane is taken until `assign` is called again. */
  doubt(): void;
  /** Resolves when every lane assigned so far is held, or has failed. Throws the first failure. */
  opened(): Promise<void>;
  /** Works until nothing is left, or until the signal. Returns why lanes could not go on; the others did. */
  run(): Promise<readonly unknown[]>;
  /** Ends all work: it can't go on. */
  fail(error: unknown): void;
  gauges(): RunGauges;
  /** Ends all work, begun or not, and resolves when every lane has been given up. Idempotent. */
  close(): Promise<void>;
}

interface Worker {
  readonly service: ServiceName;
  readonly number: number;
  /** Aborted when the lane is to be given up. */
  readonly leave: AbortController;
  readonly opened: Promise<void>;
  lane: ServiceLane | undefined;
  ended: boolean;
}

/** Somebody else holds a lane that the group gives to us: the group may not know yet that it doesn't. */
const LANE_AGAIN_MS = 1_500;
/** The group takes a process that was killed for a living one until its session has ended, 6 s, and then shares its lanes out. */
const OTHERS_LIVE_MS = 8_000;

export function laneWorkers({ open, lanes, follow, signal, clock, emit }: LaneWorkersOptions): LaneWorkers {
  const workers = new Map<string, Worker>();
  /** The last work on each lane, also when the lane is another's by now. */
  const works = new Map<string, Promise<void>>();
  const failures: unknown[] = [];
  const started = Promise.withResolvers<void>();
  const over = Promise.withResolvers<void>();
  const stop = new AbortController();
  /** Set while it would end when nothing comes. */
  let cancelEnd: (() => void) | undefined;
  let isCertain = false;
  let certain = Promise.withResolvers<void>();
  /** Those that are still closing are waited for; a lane that comes now would be nobody's. */
  let isOver = false;
  const all = AbortSignal.any([signal, stop.signal]);

  const look = (): void => {
    const current = [...workers.values()];
    if (current.some(({ ended }) => !ended)) return;
    const failed = current.length > 0 && failures.length > 0;
    if (all.aborted || failed || (!follow && current.length >= lanes)) over.resolve();
    // Lanes of the dead come to those who are still there.
    else if (!follow) cancelEnd ??= clock.schedule(OTHERS_LIVE_MS, over.resolve);
  };
  const stay = (): void => {
    cancelEnd?.();
    cancelEnd = undefined;
  };

  const isAnyAtWork = (but: Worker): boolean => [...workers.values()].some((worker) => worker !== but && !worker.ended);

  const begin = (name: string, { topic, partition }: TopicPartition): void => {
    if (isOver) return;
    const service = topic === TOPICS.followersRequests ? 'followers' : 'books';
    const opened = Promise.withResolvers<void>();
    const worker: Worker = {
      service,
      number: partition,
      leave: new AbortController(),
      opened: opened.promise,
      lane: undefined,
      ended: false,
    };
    workers.set(name, worker);
    opened.promise.catch(() => undefined);
    // A lane that comes back is taken again when it has been given up.
    const work = (works.get(name) ?? Promise.resolve())
      .then(() => workOn(worker, opened.resolve))
      .catch((error: unknown) => {
        if (!worker.leave.signal.aborted && !all.aborted) {
          failures.push(error);
          // With the last one the run ends, and says it.
          if (isAnyAtWork(worker)) emit({ type: 'lane-left', service, lane: partition, reason: errorText(error), failed: true });
        }
        opened.reject(error);
      })
      .finally(() => {
        worker.ended = true;
        opened.resolve();
        look();
      });
    works.set(name, work);
  };

  const workOn = async (worker: Worker, opened: () => void): Promise<void> => {
    const { service, number } = worker;
    const leave = AbortSignal.any([worker.leave.signal, all]);
    while (!leave.aborted) {
      let reason: string | undefined;
      try {
        worker.lane = await open(service, number, leave);
        emit({ type: 'lane-opened', service, lane: number });
        opened();
        await started.promise;
        await worker.lane.run(leave);
      } catch (error) {
        if (error instanceof LaneLostError) reason = `${error.by ?? 'another process'} has taken it over`;
        else if (error instanceof LaneOutgrownError) reason = error.message;
        else throw error;
      } finally {
        const { lane } = worker;
        worker.lane = undefined;
        await lane?.close();
      }
      if (reason !== undefined || worker.leave.signal.aborted)
        emit({ type: 'lane-left', service, lane: number, ...(reason !== undefined && { reason }) });
      if (reason === undefined) return;
      await pause(clock, LANE_AGAIN_MS, leave);
      await Promise.race([certain.promise, aborted(leave)]);
    }
  };

  const close = async (): Promise<void> => {
    isOver = true;
    stay();
    stop.abort();
    started.resolve();
    await Promise.allSettled(works.values());
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
      const wanted = new Map(partitions.map((place) => [`${place.topic}-${place.partition}`, place]));
      for (const [name, worker] of workers) {
        if (wanted.has(name)) continue;
        workers.delete(name);
        worker.leave.abort();
      }
      // Others may have had them meanwhile.
      if (!wasCertain) for (const { lane } of workers.values()) lane?.confirm();
      for (const [name, place] of wanted) if (!workers.has(name)) begin(name, place);
      look();
    },
    async opened() {
      try {
        await Promise.all([...workers.values()].map((worker) => worker.opened));
      } catch (error) {
        await close();
        throw error;
      }
    },
    async run() {
      const end = (): void => look();
      all.addEventListener('abort', end);
      started.resolve();
      if (!follow && workers.size === 0) {
        emit({
          type: 'notice',
          level: 'info',
          message: `other processes of the group work all lanes; this one ends if none comes free within ${OTHERS_LIVE_MS / 1_000} s`,
        });
      }
      look();
      await over.promise;
      isOver = true;
      stay();
      if (!all.aborted && workers.size < lanes) emit({ type: 'lanes-elsewhere', lanes: lanes - workers.size });
      all.removeEventListener('abort', end);
      await Promise.allSettled(works.values());
      return failures;
    },
    close,
    fail(error) {
      failures.push(error);
      stop.abort();
      look();
    },
    gauges() {
      const held = [...workers.values()].flatMap(({ lane }) => (lane === undefined ? [] : [lane.gauges()]));
      return {
        budgets: held.flatMap(({ budgets }) => budgets),
        credits: held.flatMap(({ credits }) => credits),
        activities: held.flatMap(({ activities }) => activities),
      };
    },
  };
}
