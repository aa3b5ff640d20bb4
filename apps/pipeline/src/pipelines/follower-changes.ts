import { setImmediate as turn } from 'node:timers/promises';
import { crawlChanges } from '@headgate/operators';
import { type AfterIo, type Crawl, type PendingRecord, type TopicDefinition, PipelineError } from '@headgate/pipeline';
import { pause } from '@headgate/throttle/internal';
import { textOf } from '@headgate/topics';
import { type RecordOf, recordSchemas } from '../records/schemas.ts';

type Io = AfterIo<{ readonly changes: TopicDefinition<RecordOf<'followers.changes'>> }>;

/** The users who followed or unfollowed between a user's last two crawls. None for a first crawl. */
export async function* followerChanges(crawl: Crawl, previous: Crawl | undefined, io: Io): AsyncGenerator<PendingRecord> {
  if (previous === undefined) return;
  const { key, id } = crawl;
  for await (const { change, id: changed } of crawlChanges({ before: () => idsOf(previous, io), after: () => idsOf(crawl, io) })) {
    yield io.topics.changes({ key, value: { user: key, crawl: id, change, id: changed }, id: changed, kind: change });
  }
}

const POLL_MS = 1_000;

/**
 * Reads the IDs of a crawl from `followers.pages`, one page at a time. Waits while an open transaction blocks pages. Throws if a page is
 * missing, and throws `signal.reason` if the signal aborts.
 */
async function* idsOf(
  { key, id, pages, offsets }: Crawl,
  { log, names, partition, clock, signal, warn }: Io,
): AsyncGenerator<readonly string[], void, undefined> {
  const topic = names('followers.pages');
  let from = offsets['pages'] ?? 0;
  let page = 0;
  let isReported = false;
  for (let isDecided = false; ;) {
    await using reader = log.readBytes({ topic, partitions: [partition], from, signal });
    for await (const { offset, key: user, value } of reader) {
      if (user === null || textOf(user) !== key) continue;
      const found = parsedPage(value);
      if (found?.crawl !== id || found.page !== page + 1) continue;
      page = found.page;
      from = offset + 1;
      yield found.ids;
      if (page === pages) return;
      // Pages that were fetched together arrive without a pause. This gives timers and requests in flight a turn.
      await turn();
      signal.throwIfAborted();
    }
    signal.throwIfAborted();
    if (isDecided) throw pagesGone({ key, id, pages, page: page + 1, topic });
    isDecided = (await log.openTransaction({ topic, partition }, signal)) === undefined;
    if (isDecided) continue;
    if (!isReported) warn(`the comparison of its last two crawls waits for an open transaction in ${topic} to end`);
    isReported = true;
    await pause({ clock, ms: POLL_MS, signal });
  }
}

function pagesGone({
  key,
  id,
  pages,
  page,
  topic,
}: {
  key: string;
  id: string;
  pages: number;
  page: number;
  topic: string;
}): PipelineError {
  const message =
    `Page ${page} of ${pages} of crawl ${id} is no longer in ${topic}, so followers.changes lacks some of its changes. ` +
    "Keep that topic's records longer than the time between two crawls of a user.";
  return new PipelineError({ code: 'HEADGATE_STATE_LOST', message, pipeline: 'followers', key });
}

/** The page in a record; undefined for other records, because any client can write to the topic. */
function parsedPage(value: Uint8Array | null): RecordOf<'followers.pages'> | undefined {
  try {
    return recordSchemas['followers.pages'].parse(JSON.parse((value && textOf(value)) ?? ''));
  } catch {
    return undefined;
  }
}
