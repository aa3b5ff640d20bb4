import { replayDeadLetters, topicNames } from '@headgate/pipeline';
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
  const { topics, pipelines, definitions } = await readLogConfig(context);
  const names = topicNames(topics);
  const deadLetters = definitions.map(({ name }) => names(`${name}.dead-letters`));
  const definition = definitions.find(({ name }, i) => topic === deadLetters[i] || topic === `${name}.dead-letters`);
  if (definition === undefined) throw new UsageError(`replay: ${topic} holds no dead letters. It takes ${oneOf(deadLetters)}.`);
  const { requests } = definition;
  const log = await openLog(context, topics);
  let told = 0;
  try {
    await prepareTopics({ log, config: { topics, pipelines, definitions: [definition] } });
    const { replayed, left } = await replayDeadLetters({
      log,
      group: topics.group,
      requests,
      names,
      signal: context.signal,
      onLeft({ partition, offset, key, reason }) {
        told += 1;
        if (told <= LISTED) context.stderr.write(`left in ${topic} ${partition}:${offset}: ${safeText(`${key ?? 'no key'}: ${reason}`)}\n`);
      },
    });
    const none =
      replayed === 0 ? `: ${names(`${definition.name}.dead-letters`)} holds no dead letter that an earlier replay has not seen` : '';
    const stay = left > 0 ? `, ${left} left where they are: no run could work them` : none;
    context.stderr.write(`${replayed} put back into ${names(`${requests.name}.requests`)}${stay}\n`);
    return context.signal.aborted ? 130 : 0;
  } finally {
    await log.close();
  }
}

function oneOf(topics: readonly string[]): string {
  return topics.length > 1 ? `${topics.slice(0, -1).join(', ')} or ${topics.at(-1)}` : topics.join('');
}
