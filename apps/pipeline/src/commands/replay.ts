import { TOPICS, SHARED_STATE_PARTITION, topicSpecs } from '../records/topic-names.ts';
import { type CommandContext, openLog, readTopicsConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/** Puts the requests of dead letters back into their requests topic, each once. Resolves to the exit code. */
export async function replay(topic: string, context: CommandContext): Promise<number> {
  const target = requestsTopicOf(topic);
  const topics = await readTopicsConfig(context);
  const log = await openLog(context, topics);
  try {
    await log.createTopics(topicSpecs(topics.lanes));
    // Two at once would put each letter back twice: the second finds the lane held.
    await using lane = await log.openLane({
      name: `${topics.group}.replay`,
      state: { topic: TOPICS.state, partition: SHARED_STATE_PARTITION },
    });
    const group = `${topics.group}.replay`;
    let replayed = 0;
    let kept = 0;
    for await (const { partition, offset, key, value } of log.read({ topic, group, signal: context.signal })) {
      const request = requestOf(value);
      if (request === undefined) kept += 1;
      else replayed += 1;
      await lane.transaction((tx) => {
        if (request !== undefined) tx.append([{ topic: target, key, value: JSON.stringify(request) }]);
        tx.commitOffset({ group, topic, partition, offset: offset + 1 });
      });
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

/** Undefined for a letter whose request was too large to be kept, and for what is no dead letter of ours: anybody may write to a topic. */
function requestOf(value: string | null): unknown {
  let letter: unknown;
  try {
    letter = JSON.parse(value ?? 'null');
  } catch {
    return undefined;
  }
  return typeof letter === 'object' && letter !== null && 'request' in letter ? (letter.request ?? undefined) : undefined;
}
