import type { Clock } from '@headgate/throttle';
import { LaneHeldError, LaneLostError, type LaneWriter, type TopicLog } from '@headgate/topics';
import type { KeyedRequest, Pipeline } from '../define-pipeline.ts';
import { GROUP_STATE, listLane, requestsTopic } from '../names.ts';
import type { TopicNames } from '../topic.ts';
import { pause } from '../wait.ts';

export interface RequestListOptions {
  readonly log: TopicLog;
  readonly group: string;
  readonly pipelines: readonly Pipeline[];
  readonly names: TopicNames;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/** Requests written in the first transaction; each has twice as many as the one before, up to the most: a log takes its time for each. */
const FIRST_CHUNK = 1_000;
const MOST_CHUNK = 8_000;
/** A request that has been off every list for so long is forgotten: the state must not grow with every list there ever was. */
const FORGET_AFTER_MS = 30 * 86_400_000;

/** The times of the wall clock, epoch ms, between which nothing is due: a marker written after `from` would be of the future. */
export interface NothingDue {
  readonly from: number;
  readonly until: number;
}

/**
 * Puts the pipelines' lists into their requests topics: a request per entry, once, again after `every`. Returns when nothing is due after
 * that, or when the signal aborts. Several processes may do so with the same list: each takes the same lane of its own, and writes what isn't marked there yet.
 */
export async function enqueueLists(options: RequestListOptions): Promise<NothingDue> {
  const { log, group, names, clock, signal } = options;
  const listed = listedRequests(options);
  const topic = names(GROUP_STATE);
  while (!signal.aborted) {
    const now = clock.epochMs();
    const due = (state: ReadonlyMap<string, string>): ListedRequest[] => listed.filter((one) => isDue(one, state, now));
    // A look costs less than a lane, and mostly there is nothing to do.
    const state = await log.readState(topic, 0);
    if (due(state).length === 0) return nothingDue(listed, ({ marker }) => state.get(marker));
    try {
      await using lane = await log.openLane({ name: listLane(group), state: { topic, partition: 0 } }, signal);
      const missing = due(lane.state);
      for (const chunk of chunksOf(missing)) {
        if (signal.aborted) break;
        await enqueueChunk(lane, chunk, now);
      }
      await forget(lane, { group, listed, now });
      const written = new Set(missing.filter(({ everyMs }) => everyMs !== undefined));
      return nothingDue(listed, (one) => (written.has(one) ? String(now) : lane.state.get(one.marker)));
    } catch (error) {
      if (!(error instanceof LaneLostError || error instanceof LaneHeldError)) {
        if (signal.aborted) break;
        throw error;
      }
      // Another process has the same list: entries it hasn't written are ours to write.
      await pause(clock, 100 + 400 * Math.random(), signal);
    }
  }
  return { from: -Infinity, until: Infinity };
}

function* chunksOf<Entry>(all: readonly Entry[]): Generator<readonly Entry[], void, undefined> {
  for (let [start, size] = [0, FIRST_CHUNK]; start < all.length; [start, size] = [start + size, Math.min(2 * size, MOST_CHUNK)])
    yield all.slice(start, start + size);
}

async function enqueueChunk(lane: LaneWriter, chunk: readonly ListedRequest[], now: number): Promise<void> {
  await lane.transaction((tx) => {
    tx.append(chunk.map(({ topic, request }) => ({ topic, ...request })));
    for (const { marker } of chunk) tx.checkpoint(marker, String(now));
  });
}

async function forget(
  lane: LaneWriter,
  { group, listed, now }: { readonly group: string; readonly listed: readonly ListedRequest[]; readonly now: number },
): Promise<void> {
  const prefix = `${group}/listed/`;
  const old: string[] = [];
  for (const [key, at] of lane.state) if (now - Number(at) > FORGET_AFTER_MS && key.startsWith(prefix)) old.push(key);
  if (old.length === 0) return;
  const current = new Set(listed.map(({ marker }) => marker));
  const gone = old.filter((key) => !current.has(key));
  for (let i = 0; i < gone.length; i += MOST_CHUNK) {
    await lane.transaction((tx) => {
      for (const key of gone.slice(i, i + MOST_CHUNK)) tx.checkpoint(key, null);
    });
  }
}

/** The requests of lists that a run would enqueue now; `state`: of the group. */
export function listedAndDue(
  options: Omit<RequestListOptions, 'log' | 'signal'> & { readonly state: ReadonlyMap<string, string> },
): readonly { readonly pipeline: string; readonly request: KeyedRequest }[] {
  const now = options.clock.epochMs();
  return listedRequests(options)
    .filter((one) => isDue(one, options.state, now))
    .map(({ pipeline, request }) => ({ pipeline, request }));
}

function isDue({ marker, everyMs }: ListedRequest, state: ReadonlyMap<string, string>, now: number): boolean {
  const before = state.get(marker);
  if (before === undefined || everyMs === undefined) return before === undefined;
  const { from, until } = notDue(before, everyMs);
  return !(now >= from && now < until);
}

/** A marker that lies more than a period ahead was written by a clock that was wrong. */
function notDue(before: string, everyMs: number): NothingDue {
  return { from: Number(before) - everyMs, until: Number(before) + everyMs };
}

function nothingDue(listed: readonly ListedRequest[], marked: (one: ListedRequest) => string | undefined): NothingDue {
  let [from, until] = [-Infinity, Infinity];
  for (const one of listed) {
    if (one.everyMs === undefined) continue;
    const times = notDue(marked(one) ?? 'never', one.everyMs);
    from = Math.max(from, times.from);
    until = Math.min(until, times.until);
  }
  return { from, until };
}

interface ListedRequest {
  readonly pipeline: string;
  readonly request: KeyedRequest;
  readonly topic: string;
  /** The key under which it is marked as enqueued. */
  readonly marker: string;
  readonly everyMs: number | undefined;
}

/** A list that names one twice means it once, as it is spelled first. */
function listedRequests({ group, pipelines, names }: Pick<RequestListOptions, 'group' | 'pipelines' | 'names'>): ListedRequest[] {
  const listed = new Map<string, ListedRequest>();
  for (const pipeline of pipelines) {
    const { name, everyMs } = pipeline;
    const topic = requestsTopic(pipeline, names);
    for (const request of pipeline.listed()) {
      const marker = `${group}/listed/${topic}/${fieldsOf(request.value)}${request.key}`;
      if (!listed.has(marker)) listed.set(marker, { pipeline: name, topic, request, marker, everyMs });
    }
  }
  return [...listed.values()];
}

/** Requests of different kinds may have the same key: an author may be called by digits. */
function fieldsOf(value: string): string {
  const request = JSON.parse(value) as unknown;
  return request !== null && typeof request === 'object' ? `${Object.keys(request).sort().join('+')}/` : '';
}
