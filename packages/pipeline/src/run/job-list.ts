import type { Clock } from '@headgate/throttle';
import { pause, untilAborted } from '@headgate/throttle/internal';
import { LaneHeldError, LaneLostError, type LaneWriter, type NewRecord, type TopicLog } from '@headgate/topics';
import type { KeyedJob } from '../definition/pipeline-jobs.ts';
import type { ListedJob, Pipeline } from '../definition/pipeline.ts';
import { GROUP_STATE, listLane, requestsTopic } from '../topics/names.ts';
import { FROM_START, RESUME } from '../topics/job.ts';
import { topicPartitions } from '../lane/topic-partitions.ts';
import type { TopicNames } from '../topics/topic.ts';
import { type ChosenAgain, isChosenAgain, unfinishedOf } from './list-again.ts';

export interface JobListOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly pipelines: readonly Pipeline[];
  readonly names: TopicNames;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** Resolves when this process may write. The group's state is read before. */
  readonly ready?: Promise<void>;
  /** Called before jobs are enqueued if no job of a list was noted before, as after the group's state was lost. */
  readonly onNoneNoted: (topic: string) => void;
  /** Listed jobs to enqueue even if they aren't due. Default: none. */
  readonly again?: AgainOptions | undefined;
}

export interface AgainOptions extends ChosenAgain {
  /** Number of lanes of the run. */
  readonly lanes: number;
  /** Called with the jobs that aren't enqueued again, because they are unfinished. */
  readonly onUnfinished: (pipeline: Pipeline, requests: ReadonlySet<ListedJob>) => void;
}

/** Number of jobs in the first transaction. Each later transaction has twice as many, up to `MAX_CHUNK`. */
const FIRST_CHUNK = 1_000;
const MAX_CHUNK = 8_000;
/**
 * Time after which the marker of a job that its list doesn't contain any more is deleted, in ms. Otherwise, the state would grow with
 * every entry that a list ever had.
 */
const FORGET_AFTER_MS = 30 * 86_400_000;
/** Part of each marker's key in the group's state. */
const LISTED = 'listed';

/**
 * Nothing is due while the wall clock is from `from` to before `until`, epoch ms. If the clock is before `from`, it was set back, so a
 * marker is from the future.
 */
export interface NothingDue {
  readonly from: number;
  readonly until: number;
}

/**
 * Enqueues the pipelines' lists: each entry once, or again after `every`. Returns the time in which nothing is due after that; if the
 * signal aborts, that time is unlimited. Several processes can enqueue the same list: they take the same lane in turn, and each writes only
 * the entries that are still due.
 */
export async function enqueueLists(options: JobListOptions): Promise<NothingDue> {
  const { log, group, names, clock, signal, ready, onNoneNoted } = options;
  const topic = names(GROUP_STATE);
  const again = new Set(Array.from(chosenJobs(options), ({ marker }) => marker));
  while (!signal.aborted) {
    const now = clock.epochMs();
    // Reading costs less than taking a lane, and usually nothing is due.
    const [state] = await Promise.all([log.readState(topic, 0), ready]);
    const first = dueJobs(options, state, now, again).next();
    if (first.done === true && first.value.markers.size === 0) return first.value.nothingDue;
    if (![...state.keys()].some((key) => key.startsWith(`${group}/${LISTED}/`))) onNoneNoted(topic);
    try {
      const requests = options.pipelines.map((pipeline) => requestsTopic(pipeline, names));
      const writes = await topicPartitions(log, requests);
      await using lane = await log.openLane({ name: listLane(group), state: { topic, partition: 0 }, writes }, signal);
      // Look after taking the lane, so that of two processes only the first enqueues a job again.
      await forgetUnfinished(options, again);
      const due = dueJobs(options, lane.state, now, again);
      for (let size = FIRST_CHUNK; !signal.aborted; size = Math.min(2 * size, MAX_CHUNK)) {
        const { chunk, end } = nextChunk(due, size);
        await enqueueChunk(lane, chunk, now);
        for (const marker of chunk.keys()) again.delete(marker);
        if (end === undefined) continue;
        await writeMarkers(lane, [...end.markers]);
        return end.nothingDue;
      }
    } catch (error) {
      if (!(error instanceof LaneLostError || error instanceof LaneHeldError)) {
        if (signal.aborted) break;
        throw error;
      }
      // Another process holds the lane. Wait, and then write the entries that are still due.
      await untilAborted(signal, pause({ clock, ms: 100 + 400 * Math.random(), signal }));
    }
  }
  return { from: -Infinity, until: Infinity };
}

/** Jobs by their markers. If a list contains a job twice, its first spelling is kept. */
type Chunk = ReadonlyMap<string, MarkedJob>;

/** Returns the next due jobs, up to `size`. `end` is set if no more follow. */
function nextChunk(due: Generator<MarkedJob, ListsEnd>, size: number): { readonly chunk: Chunk; readonly end: ListsEnd | undefined } {
  const chunk = new Map<string, MarkedJob>();
  while (chunk.size < size) {
    const next = due.next();
    if (next.done === true) return { chunk, end: next.value };
    if (!chunk.has(next.value.marker)) chunk.set(next.value.marker, next.value);
  }
  return { chunk, end: undefined };
}

async function enqueueChunk(lane: LaneWriter, chunk: Chunk, now: number): Promise<void> {
  if (chunk.size === 0) return;
  await lane.transaction((tx) => {
    tx.append(
      Array.from(chunk.values(), ({ topic, request: { key, value }, headers }) => ({ topic, key, value, ...(headers && { headers }) })),
    );
    for (const marker of chunk.keys()) tx.checkpoint(marker, String(now));
  });
}

async function writeMarkers(lane: LaneWriter, markers: readonly (readonly [marker: string, value: string | null])[]): Promise<void> {
  for (let i = 0; i < markers.length; i += MAX_CHUNK) {
    await lane.transaction((tx) => {
      for (const [marker, value] of markers.slice(i, i + MAX_CHUNK)) tx.checkpoint(marker, value);
    });
  }
}

/** Returns the listed jobs that a run would enqueue now. `state`: the group's state. */
export function listedAndDue(
  options: ListOptions & { readonly clock: Clock; readonly state: ReadonlyMap<string, string> },
): readonly KeyedJob[] {
  const due = new Map<string, KeyedJob>();
  for (const { marker, request } of dueJobs(options, options.state, options.clock.epochMs()))
    if (!due.has(marker)) due.set(marker, request);
  return [...due.values()];
}

/** Result of a look at the lists, once all due jobs are enqueued. */
interface ListsEnd {
  readonly nothingDue: NothingDue;
  /** New values of the markers whose jobs have left their list, or are in it again. Null: the marker is deleted. */
  readonly markers: ReadonlyMap<string, string | null>;
}

/** Yields the listed jobs that are due. Checks each against `state` at its turn, so that markers written in between count. */
function* dueJobs(
  options: ListOptions,
  state: ReadonlyMap<string, string>,
  now: number,
  again: ReadonlySet<string> = new Set(),
): Generator<MarkedJob, ListsEnd, undefined> {
  let [from, until] = [-Infinity, Infinity];
  // The lists of other pipelines, which another run has, keep their markers.
  const prefixes = options.pipelines.map((pipeline) => markersOf(options, pipeline));
  const listed = new Set<string>();
  const markers = new Map<string, string | null>();
  for (const one of listedJobs(options)) {
    const { enqueuedAt, unlistedAt } = readMarker(state.get(one.marker));
    listed.add(one.marker);
    let times = notDue(enqueuedAt, one.everyMs);
    const isChosen = again.has(one.marker);
    if (isChosen || !(now >= times.from && now < times.until)) {
      yield isChosen && options.again?.fromStart === true ? { ...one, headers: { [RESUME]: FROM_START } } : one;
      times = notDue(now, one.everyMs);
    } else if (unlistedAt !== undefined) markers.set(one.marker, String(enqueuedAt));
    from = Math.max(from, times.from);
    until = Math.min(until, times.until);
  }
  for (const [marker, value] of state) {
    if (listed.has(marker) || !prefixes.some((prefix) => marker.startsWith(prefix))) continue;
    const { enqueuedAt, unlistedAt } = readMarker(value);
    if (unlistedAt === undefined) markers.set(marker, `${enqueuedAt} ${now}`);
    else if (now - unlistedAt > FORGET_AFTER_MS) markers.set(marker, null);
  }
  return { nothingDue: { from, until }, markers };
}

/**
 * Reads the value of a marker: when its job was enqueued and, if a later look at its list didn't find it, when that was. Both are epoch
 * ms. `enqueuedAt` is NaN without a marker.
 */
function readMarker(value = ''): { readonly enqueuedAt: number; readonly unlistedAt: number | undefined } {
  const [enqueuedAt = '', unlistedAt] = value.split(' ');
  return { enqueuedAt: Number.parseFloat(enqueuedAt), unlistedAt: unlistedAt === undefined ? undefined : Number(unlistedAt) };
}

/**
 * Returns the time in which a job isn't due. `enqueuedAt`: epoch ms, or NaN without a marker. A marker that is more than a period in
 * the future comes from a wrong clock. Its job is due.
 */
function notDue(enqueuedAt: number, everyMs: number): NothingDue {
  return { from: enqueuedAt - everyMs, until: enqueuedAt + everyMs };
}

type ListOptions = Pick<JobListOptions, 'group' | 'pipelines' | 'names' | 'again'>;

interface MarkedJob {
  readonly request: ListedJob;
  readonly topic: string;
  /** The key in the group's state that marks the job as enqueued. */
  readonly marker: string;
  /** Period after which the job is enqueued again, ms. Infinity: never again. */
  readonly everyMs: number;
  /** Headers of the record. Default: none. */
  readonly headers?: NonNullable<NewRecord['headers']>;
}

/** Yields the listed jobs that were chosen to be enqueued again. */
function* chosenJobs(options: ListOptions): Generator<MarkedJob, void, undefined> {
  const { again, pipelines } = options;
  if (again === undefined) return;
  for (const pipeline of pipelines.filter(({ name }) => name === again.pipeline))
    for (const one of listedJobs({ ...options, pipelines: [pipeline] })) if (isChosenAgain(again, pipeline, one.request)) yield one;
}

/** Removes the unfinished ones from the jobs that are enqueued again. */
async function forgetUnfinished(options: JobListOptions, again: Set<string>): Promise<void> {
  const { pipelines, again: chosen } = options;
  const pipeline = pipelines.find(({ name }) => name === chosen?.pipeline);
  if (chosen === undefined || pipeline === undefined || again.size === 0) return;
  const asked = [...chosenJobs(options)].filter(({ marker }) => again.has(marker));
  const unfinished = await unfinishedOf(
    pipeline,
    asked.map(({ request }) => request),
    { ...options, lanes: chosen.lanes },
  );
  for (const { marker, request } of asked) if (unfinished.has(request)) again.delete(marker);
  if (unfinished.size > 0) chosen.onUnfinished(pipeline, unfinished);
}

/** Returns the start of the markers of a pipeline's list. */
function markersOf({ group, names }: ListOptions, pipeline: Pipeline): string {
  return `${group}/${LISTED}/${requestsTopic(pipeline, names)}/`;
}

/** Yields the jobs of all lists one by one, because a list can be long. */
function* listedJobs(options: ListOptions): Generator<MarkedJob, void, undefined> {
  for (const pipeline of options.pipelines) {
    const topic = requestsTopic(pipeline, options.names);
    for (const request of pipeline.listed()) {
      // The marker includes the job's identity, because jobs can share a key, such as a customer's orders and its invoices.
      const marker = `${markersOf(options, pipeline)}${request.identity}/${request.key}`;
      yield { topic, request, marker, everyMs: request.everyMs ?? Infinity };
    }
  }
}
