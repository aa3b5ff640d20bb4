import type { NewRecord, TopicRecord } from '@headgate/topics';
import { TOPICS } from '../records/topic-names.ts';
import { openTopicLog } from '../run/open-topic-log.ts';
import { type CommandContext, readTopicsConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** The group whose offset says which dead letters have been replayed. */
const GROUP = 'headgate.replay';

/** Puts the requests of dead letters back into their requests topic, each once. Resolves to the exit code. */
export async function replay(topic: string, context: CommandContext): Promise<number> {
  const target = requestsTopicOf(topic);
  const log = await openTopicLog(await readTopicsConfig(context));
  try {
    const letters = log.read({ topic, group: GROUP, signal: context.signal });
    let replayed = 0;
    let kept = 0;
    for await (const letter of letters) {
      const request = requestOf(letter);
      if (request === undefined) kept += 1;
      else {
        await log.append([{ topic: target, key: letter.key, value: JSON.stringify(request) } satisfies NewRecord]);
        replayed += 1;
      }
      await letters.commit(letter);
    }
    context.stderr.write(`${replayed} put back into ${target}${kept > 0 ? `, ${kept} without a request left alone` : ''}\n`);
    return context.signal.aborted ? 130 : 0;
  } finally {
    await log.close();
  }
}

function requestsTopicOf(topic: string): string {
  if (topic === TOPICS.followersDeadLetters) return TOPICS.followersRequests;
  if (topic === TOPICS.booksDeadLetters) return TOPICS.booksRequests;
  throw new UsageError(`replay: ${topic} holds no dead letters. It takes ${TOPICS.followersDeadLetters} or ${TOPICS.booksDeadLetters}.`);
}

function requestOf({ value }: TopicRecord): unknown {
  const letter: unknown = JSON.parse(value ?? 'null');
  return typeof letter === 'object' && letter !== null && 'request' in letter ? letter.request : undefined;
}
