import { type Pipeline, topicNames } from '@headgate/pipeline';
import { nearest } from '@headgate/pipeline/internal';
import { type TopicLog, textOf } from '@headgate/topics';
import type { TopicsConfig } from '../config/topics-section.ts';
import type { CommandFor } from '../status/open-dead-letters.ts';
import { safeText } from '../status/text/safe-text.ts';
import { UsageError } from './usage-error.ts';

export interface KnownKeyOptions {
  readonly log: TopicLog;
  readonly pipeline: Pipeline;
  readonly topics: TopicsConfig;
  readonly key: string;
  readonly commandFor: CommandFor;
  readonly signal: AbortSignal;
}

/** Maximum other keys that are kept in memory, to suggest one that resembles a misspelled key. */
const COMPARED = 10_000;

/** Throws a `UsageError` if no record in the requests topic has the key. Reads the topic from its start. */
export async function assertKnownKey({ log, pipeline, topics, key, commandFor, signal }: KnownKeyOptions): Promise<void> {
  const topic = topicNames(topics)(`${pipeline.name}.requests`);
  const others = new Set<string>();
  for await (const record of log.readBytes({ topic, signal })) {
    const own = record.key === null ? '' : textOf(record.key);
    if (own === key) return;
    if (own !== undefined && others.size < COMPARED) others.add(own);
  }
  if (signal.aborted) return;
  const meant = nearest(key, [...others]);
  const advice = meant === undefined ? '' : ` Did you mean ${safeText(meant)}?`;
  const list = `To list the jobs: ${commandFor('read', topic)}`;
  throw new UsageError(`run --only: ${pipeline.name} has no job with the key ${safeText(key)}.${advice} ${list}`);
}
