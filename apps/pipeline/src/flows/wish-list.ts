import { userLabel } from '@headgate/sources/followers/user';
import type { Clock } from '@headgate/throttle';
import { LaneHeldError, LaneLostError, type LaneWriter, type NewRecord, type TopicLog } from '@headgate/topics';
import { normalizeIsbn } from '@headgate/operators';
import type { Config, UserReference } from '../config/config.ts';
import { pause } from '../lanes/pause.ts';
import { SHARED_STATE_PARTITION, TOPICS, wishListLane } from '../records/topic-names.ts';

export interface ListedAndDueOptions {
  readonly log: Pick<TopicLog, 'readState'>;
  readonly config: Config;
  readonly clock: Clock;
}

export interface EnqueueListOptions extends ListedAndDueOptions {
  readonly log: TopicLog;
  /** Ends it between two transactions. */
  readonly signal: AbortSignal;
}

/** Wishes written in one transaction. */
const CHUNK = 1_000;

/** The wall clock's times, epoch ms, at which nothing is due: before `from`, the notes would have been written in the future. */
export interface NothingDue {
  readonly from: number;
  readonly until: number;
}

/**
 * Puts the config's lists into the requests topics: a wish per entry, once, again after `every`. Returns when nothing is due after that.
 * Several processes may do so with the same list: each takes the same lane of its own, and writes what isn't noted there yet.
 * Throws `signal.reason` where that aborts before all is written.
 */
export async function enqueueList({ log, config, clock, signal }: EnqueueListOptions): Promise<NothingDue> {
  const shared = { topic: TOPICS.state, partition: SHARED_STATE_PARTITION };
  const wishes = listedWishes(config);
  for (;;) {
    const now = clock.epochMs();
    const due = (state: ReadonlyMap<string, string>): ListedWish[] => wishes.filter((wish) => isDue(wish, state, now));
    // A look costs less than a lane, and mostly there is nothing to do.
    const state = await log.readState(shared.topic, shared.partition);
    if (due(state).length === 0) return nothingDue(wishes, ({ note }) => state.get(note));
    try {
      await using lane = await log.openLane({ name: wishListLane(config.topics.group), state: shared }, signal);
      const missing = due(lane.state);
      for (let i = 0; i < missing.length; i += CHUNK) {
        signal.throwIfAborted();
        await enqueueChunk(lane, missing.slice(i, i + CHUNK), now);
      }
      const written = new Set(missing);
      return nothingDue(wishes, (wish) => (written.has(wish) ? String(now) : lane.state.get(wish.note)));
    } catch (error) {
      if (!(error instanceof LaneLostError || error instanceof LaneHeldError)) throw error;
      // Another process has the same list: what it hasn't written is ours to write.
      await pause(clock, 100 + 400 * Math.random(), signal);
      signal.throwIfAborted();
    }
  }
}

async function enqueueChunk(lane: LaneWriter, chunk: readonly ListedWish[], now: number): Promise<void> {
  await lane.transaction((tx) => {
    tx.append(chunk.map(({ record }) => record));
    for (const { note } of chunk) tx.checkpoint(note, String(now));
  });
}

/** The wishes of the config's lists that a run would enqueue now. */
export async function listedAndDue({
  log,
  config,
  clock,
}: ListedAndDueOptions): Promise<readonly { readonly topic: string; readonly wish: ListedContent }[]> {
  const state = await log.readState(TOPICS.state, SHARED_STATE_PARTITION);
  const due = listedWishes(config).filter((wish) => isDue(wish, state, clock.epochMs()));
  return due.map(({ record, content }) => ({ topic: record.topic, wish: content }));
}

function isDue({ note, everyMs }: ListedWish, state: ReadonlyMap<string, string>, now: number): boolean {
  const before = state.get(note);
  if (before === undefined || everyMs === undefined) return before === undefined;
  const { from, until } = notDue(before, everyMs);
  return !(now >= from && now < until);
}

/** A note that lies more than a period ahead was written by a clock that was wrong. */
function notDue(before: string, everyMs: number): NothingDue {
  return { from: Number(before) - everyMs, until: Number(before) + everyMs };
}

function nothingDue(wishes: readonly ListedWish[], noted: (wish: ListedWish) => string | undefined): NothingDue {
  let [from, until] = [-Infinity, Infinity];
  for (const wish of wishes) {
    if (wish.everyMs === undefined) continue;
    const times = notDue(noted(wish) ?? 'never', wish.everyMs);
    from = Math.max(from, times.from);
    until = Math.min(until, times.until);
  }
  return { from, until };
}

export type ListedContent = UserReference | { readonly isbn: string } | { readonly author: string };

interface ListedWish {
  readonly content: ListedContent;
  readonly record: NewRecord;
  /** The key under which it is noted that it was enqueued. */
  readonly note: string;
  readonly everyMs: number | undefined;
}

function listedWishes({ topics: { group }, followers, books }: Config): ListedWish[] {
  const listed = listedBy(group);
  const users = (followers?.users ?? []).map((user) => listed(TOPICS.followersRequests, userLabel(user), user, followers?.everyMs));
  const isbns = (books?.isbns ?? []).map((isbn) => listed(TOPICS.booksRequests, isbnKey(isbn), { isbn }, books?.everyMs));
  const authors = (books?.authors ?? []).map((author) => listed(TOPICS.booksRequests, author, { author }, books?.everyMs, 'author/'));
  // A list that names one twice means it once.
  return [...new Map([...users, ...isbns, ...authors].map((wish) => [wish.note, wish])).values()];
}

function listedBy(group: string) {
  return (topic: string, key: string, content: ListedContent, everyMs: number | undefined, kind = ''): ListedWish => {
    return { content, record: { topic, key, value: JSON.stringify(content) }, note: `${group}/listed/${topic}/${kind}${key}`, everyMs };
  };
}

/** An ISBN's key is its 13 digits; what is no ISBN keeps its text, and becomes a dead letter when it is worked. */
function isbnKey(text: string): string {
  try {
    return normalizeIsbn(text);
  } catch {
    return text;
  }
}
