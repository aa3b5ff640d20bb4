import type { Json } from '@headgate/throttle';
import { endsLane } from '../topics/source-error.ts';
import { readable } from '../settings/thrown.ts';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { type PendingRecord, REQUESTS, type TopicMap, countRecords, madeRecord } from '../topics/topic.ts';
import type { WorkerContext } from '../definition/processor.ts';
import { sizedRecords } from '../lane/record-size.ts';
import { pendingDeadLetter } from './pending-dead-letter.ts';
import type { LastCrawls } from './last-crawls.ts';
import type { After, Crawl } from './walk-definition.ts';

export interface AfterWork {
  /** Number of walks whose work isn't finished. */
  readonly load: number;
  readonly isBusy: boolean;
  /** The walk whose work is running, and the name of that work. */
  readonly current: { readonly key: string; readonly request: string; readonly name: string } | undefined;
  /** Returns the ends of the lane's partition in the pipeline's topics. The records of a walk that starts now will be at or after them. */
  offsets(): Promise<Readonly<Record<string, number>>>;
  /** Notes that a walk is complete. Call it just before the walk's last page is written. */
  ending(crawl: EndedWalk): EndingWalk;
  /** Stops the work, at the latest after the current chunk. Unfinished work continues when the lane is opened again. */
  stop(): void;
}

export interface EndedWalk extends Omit<Crawl, 'offsets'> {
  readonly whole: boolean;
  /** True if the walk completes a failed walk that was for all pages. Its carried value then counts, but it has no work after it. Default: false. */
  readonly isRest?: boolean;
  readonly offsets: Crawl['offsets'] | undefined;
  readonly carried?: Json | undefined;
}

export interface EndingWalk {
  /** State changes to write in the transaction of the walk's last page. */
  readonly state: readonly StateChange[];
  /** Starts the work. Call it when the transaction of the walk's last page is durable. */
  start(): void;
}

/** The unfinished work after a walk, in the form in which the lane's state stores it. */
interface Unfinished {
  readonly crawl: Crawl;
  readonly previous?: Crawl | undefined;
  /** How many of the records that the work yields are written. When the work runs again, that many are skipped. */
  readonly written: number;
  /** True if the work has failed before, and its dead letter is written. */
  readonly failed?: true;
}

/** Number of records written, by topic and by kind. */
interface Written {
  /** Number of the work's records that are in the log, those of earlier runs included. A series counts as one. */
  upTo: number;
  readonly counts: Record<string, number>;
  readonly kinds: Record<string, number>;
}

/** Maximum records per transaction. A series counts as one record. */
const CHUNK = 5_000;

/**
 * Drops the unfinished work of an earlier run that the pipeline no longer defines, with a warning. `isKept`: returns true for the rest of a
 * state key whose work continues.
 */
export function dropAfter(
  { kind, lane, emit }: Pick<WorkerContext<unknown, TopicMap>, 'kind' | 'lane' | 'emit'>,
  isKept: (key: string) => boolean,
): void {
  const dropped = lane.stateUnder(STATE_KEYS.after + kind).filter(({ key }) => !isKept(key));
  for (const { value } of dropped) {
    const { key, id } = (value as Unfinished).crawl;
    const message = `${key}: the work after its crawl ${id} was dropped, because the pipeline no longer defines it for this kind of job`;
    emit({ type: 'notice', level: 'warn', message });
  }
  lane.beforeCommit(() => dropped.splice(0).map(({ key }): StateChange => [STATE_KEYS.after + kind + key, null]));
}

/** Runs the work after the walks of a lane, one walk at a time. Continues the unfinished work in the lane's state. */
export function afterWork<Topics extends TopicMap>(
  { after, afterName = 'the work after its crawl' }: { readonly after?: After<Topics>; readonly afterName?: string },
  last: LastCrawls,
  { pipeline, kind, lane, log, names, notifier, clock, emit, topics }: Omit<WorkerContext<unknown, Topics>, 'read' | 'keyOf'>,
): AfterWork {
  const { partition } = lane;
  const afterKey = STATE_KEYS.after + kind;
  // Without `route`, the prefix is also that of the kinds of an earlier `route`, whose keys aren't numbers.
  const isOwn = (key: string): boolean => after !== undefined && !Number.isNaN(Number(key));
  const queue = lane
    .stateUnder(afterKey)
    .filter(({ key }) => isOwn(key))
    .map(({ key, value }) => ({ stateKey: afterKey + key, number: Number(key), work: value as Unfinished }))
    .toSorted((one, other) => one.number - other.number);
  let lastNumber = queue.at(-1)?.number ?? 0;
  dropAfter({ kind, lane, emit }, isOwn);
  let isBusy = false;
  const stopping = new AbortController();
  const { signal } = stopping;

  const run = async (): Promise<void> => {
    if (isBusy || after === undefined) return;
    isBusy = true;
    try {
      for (let next = queue[0]; next !== undefined && !signal.aborted; next = queue[0]) {
        await workOn(after, next.work, next.stateKey);
        queue.shift();
        notifier.notify();
      }
    } catch (error) {
      if (!signal.aborted) notifier.fail(error);
    } finally {
      isBusy = false;
      notifier.notify();
    }
  };

  const workOn = async (work: After<Topics>, unfinished: Unfinished, stateKey: string): Promise<void> => {
    const { key, id } = unfinished.crawl;
    const counts: Record<string, number> = {};
    const kinds: Record<string, number> = {};
    const written: Written = { upTo: unfinished.written, counts, kinds };
    let isDone = false;
    try {
      await write(work, unfinished, stateKey, written);
      isDone = true;
    } catch (thrown) {
      const error = readable(thrown);
      if (signal.aborted || endsLane(error)) throw error;
      await fail({ ...unfinished, written: written.upTo }, stateKey, error);
    } finally {
      if ((unfinished.written === 0 && isDone) || Object.keys(counts).length > 0)
        emit({ type: 'after-written', pipeline, key, request: id, counts, kinds });
    }
  };

  /**
   * Writes a dead letter when the work fails for the first time, and keeps the work in the lane's state, so that it runs again when the
   * lane is next opened. Drops the work if the records that it needs are gone.
   */
  const fail = async (unfinished: Unfinished, stateKey: string, thrown: unknown): Promise<void> => {
    const { crawl, previous } = unfinished;
    const { code, message } = reasonOf(thrown);
    if (code === 'HEADGATE_STATE_LOST') {
      await lane.commit({ records: [], state: [[stateKey, null]] });
      emit({ type: 'notice', level: 'warn', message: `${crawl.key}: ${afterName} was dropped (${crawl.id}): ${message}` });
      return;
    }
    const error = new PipelineError({
      code: 'HEADGATE_USER_FUNCTION',
      message: `${crawl.key}: ${afterName} failed (${crawl.id}): ${message}. The next start of the pipeline retries it.`,
      pipeline,
      key: crawl.key,
      cause: thrown,
    });
    const reason = code === 'HEADGATE_UNEXPECTED' ? error : { code, message: error.message, retryable: true };
    const content = { record: { crawl: crawl.id, previous: previous?.id ?? null } };
    const dead = pendingDeadLetter(
      { pipeline, lane, names, clock, emit },
      { key: crawl.key, id: `${crawl.id}/after`, content, error: reason },
    );
    const kept: Unfinished = { ...unfinished, failed: true };
    await lane.commit({ records: unfinished.failed === true ? [] : [dead.record], state: [[stateKey, kept]] });
    if (unfinished.failed === true) emit({ type: 'notice', level: 'warn', message: error.message });
    else dead.emit();
  };

  /** Runs the work and commits its records in chunks. After each commit, adds the chunk's numbers to `written`. */
  const write = async (work: After<Topics>, unfinished: Unfinished, stateKey: string, written: Written): Promise<void> => {
    const { crawl, previous } = unfinished;
    const warn = (message: string): void => emit({ type: 'notice', level: 'warn', message: `${crawl.key}: ${message}` });
    let made = 0;
    let inFlight: PendingRecord[] = [];
    const commit = async (left: Unfinished | null): Promise<void> => {
      const request = { pipeline, request: crawl.id, defaultId: String(made) };
      const records = sizedRecords(inFlight, { ...request, key: crawl.key, lane, name: 'after' });
      await lane.commit({ records, state: [[stateKey, left]] });
      written.upTo = made;
      countRecords(inFlight, written.counts);
      for (const { kind, count } of inFlight) written.kinds[kind] = (written.kinds[kind] ?? 0) + count;
      inFlight = [];
    };
    for await (const record of work(crawl, previous, { log, names, partition, topics, clock, signal, warn })) {
      madeRecord({ pipeline, key: crawl.key, name: 'after' }, { names, topics }, record);
      made += 1;
      if (made <= unfinished.written) continue;
      inFlight.push(record);
      if (inFlight.length < CHUNK) continue;
      await commit({ ...unfinished, written: made });
      signal.throwIfAborted();
    }
    await commit(null);
  };

  for (const { work } of queue) emit({ type: 'notice', level: 'info', message: `${work.crawl.key}: ${afterName} continues` });
  void run();
  return {
    get load() {
      return queue.length;
    },
    get isBusy() {
      return isBusy;
    },
    get current() {
      const [next] = queue;
      return isBusy && next !== undefined ? { key: next.work.crawl.key, request: next.work.crawl.id, name: afterName } : undefined;
    },
    async offsets() {
      const written = Object.keys(topics).filter((name) => name !== REQUESTS);
      const onLog = new Map(written.map((name) => [names(`${pipeline}.${name}`), name]));
      const infos = await log.listTopics([...onLog.keys()]);
      return Object.fromEntries(infos.map((info) => [onLog.get(info.name), info.offsets[partition]?.end ?? 0]));
    },
    ending({ key, id, pages, items, whole, isRest, offsets, carried }) {
      const before = last.of(key);
      if (isRest === true && carried !== undefined)
        return { state: [last.ended(key, { ...(before ?? { pages, items }), carried })], start: () => undefined };
      if (!whole) return { state: [], start: () => undefined };
      const crawl = offsets && { id, pages, items, offsets };
      const noted = last.ended(key, { pages, items, crawl: crawl ?? before?.crawl, carried });
      if (crawl === undefined || after === undefined) return { state: [noted], start: () => undefined };
      lastNumber += 1;
      const number = lastNumber;
      const stateKey = afterKey + String(number);
      const previous = before?.crawl && { key, ...before.crawl };
      const work: Unfinished = { crawl: { key, ...crawl }, ...(previous !== undefined && { previous }), written: 0 };
      return {
        state: [noted, [stateKey, work]],
        start() {
          queue.push({ stateKey, number, work });
          void run();
        },
      };
    },
    stop: () => stopping.abort(),
  };
}
