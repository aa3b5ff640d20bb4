import { normalizeIsbn } from '@headgate/operators';
import { TOPICS, SHARED_STATE_PARTITION, replayName } from '../records/topic-names.ts';
import { booksWish, followersWish, parseWish } from '../records/wish.ts';
import { prepareTopics } from '../run/topics.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, openLog, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** More letters than these that stay are counted, not listed. */
const LISTED = 10;

/**
 * Puts the requests of dead letters back into their requests topic, each once; one that no run could work stays a letter, with its reason on
 * stderr. Resolves to the exit code, which is 0 whatever stays: the run that wrote such a letter has failed for it.
 */
export async function replay(topic: string, context: CommandContext): Promise<number> {
  const { target, assertWorkable } = requestsOf(topic);
  const topics = (await readLogConfig(context)).topics;
  const log = await openLog(context, topics);
  try {
    await prepareTopics({ log, config: { topics } });
    const group = replayName(topics.group);
    // Two at once would put each letter back twice: the second finds the lane held.
    await using lane = await log.openLane({
      name: group,
      state: { topic: TOPICS.state, partition: SHARED_STATE_PARTITION },
    });
    let replayed = 0;
    let left = 0;
    const letters = log.read({ topic, group, unreadable: 'mark', signal: context.signal });
    for await (const { partition, offset, key, value, unreadable } of letters) {
      const request = unreadable === undefined ? workableRequest(value, assertWorkable) : { reason: unreadable.message };
      if ('reason' in request) {
        left += 1;
        if (left <= LISTED)
          context.stderr.write(`left in ${topic} ${partition}:${offset}: ${safeText(`${key ?? 'no key'}: ${request.reason}`)}\n`);
      } else replayed += 1;
      await lane.transaction((tx) => {
        if ('text' in request) tx.append([{ topic: target, key, value: request.text }]);
        tx.commitOffset({ group, topic, partition, offset: offset + 1 });
      });
    }
    context.stderr.write(`${replayed} put back into ${target}${left > 0 ? `, ${left} left where they are: no run could work them` : ''}\n`);
    return context.signal.aborted ? 130 : 0;
  } finally {
    await log.close();
  }
}

interface Requests {
  readonly target: string;
  /** Throws for the text of a request that would be a dead letter again before anything is asked. */
  readonly assertWorkable: (text: string) => void;
}

function requestsOf(topic: string): Requests {
  if (topic === TOPICS.followersDeadLetters)
    return { target: TOPICS.followersRequests, assertWorkable: (text) => void parseWish(followersWish, text) };
  if (topic === TOPICS.booksDeadLetters) return { target: TOPICS.booksRequests, assertWorkable: assertBooksWish };
  throw new UsageError(`replay: ${topic} holds no dead letters. It takes ${TOPICS.followersDeadLetters} or ${TOPICS.booksDeadLetters}.`);
}

/** In a list each ISBN is judged by itself. */
function assertBooksWish(text: string): void {
  const wish = parseWish(booksWish, text);
  if ('isbn' in wish) normalizeIsbn(wish.isbn);
}

/** A letter may lack its request, if that was too large to be kept, and anybody may write to a topic. */
function workableRequest(
  value: string | null,
  assertWorkable: Requests['assertWorkable'],
): { readonly text: string } | { readonly reason: string } {
  try {
    const letter: unknown = JSON.parse(value ?? 'null');
    const request = typeof letter === 'object' && letter !== null && 'request' in letter ? letter.request : undefined;
    if (request === undefined || request === null) return { reason: 'It holds no request.' };
    const text = JSON.stringify(request);
    assertWorkable(text);
    return { text };
  } catch (error) {
    return { reason: (error as Error).message };
  }
}
