import { type PipelineRequests, replayDeadLetters, topicNames } from '@headgate/pipeline';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { TOPICS } from '../records/topic-names.ts';
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
  const requests = requestsOf(topic);
  const { topics } = await readLogConfig(context);
  const log = await openLog(context, topics);
  let told = 0;
  try {
    await prepareTopics({ log, config: { topics } });
    const { replayed, left } = await replayDeadLetters({
      log,
      group: topics.group,
      requests,
      names: topicNames(),
      signal: context.signal,
      onLeft({ partition, offset, key, reason }) {
        told += 1;
        if (told <= LISTED) context.stderr.write(`left in ${topic} ${partition}:${offset}: ${safeText(`${key ?? 'no key'}: ${reason}`)}\n`);
      },
    });
    const stay = left > 0 ? `, ${left} left where they are: no run could work them` : '';
    context.stderr.write(`${replayed} put back into ${requests.name}.requests${stay}\n`);
    return context.signal.aborted ? 130 : 0;
  } finally {
    await log.close();
  }
}

function requestsOf(topic: string): PipelineRequests {
  if (topic === TOPICS.followersDeadLetters) return followers.definition.requests;
  if (topic === TOPICS.booksDeadLetters) return books.definition.requests;
  throw new UsageError(`replay: ${topic} holds no dead letters. It takes ${TOPICS.followersDeadLetters} or ${TOPICS.booksDeadLetters}.`);
}
