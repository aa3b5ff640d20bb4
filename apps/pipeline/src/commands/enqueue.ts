import { createInterface } from 'node:readline/promises';
import { InvalidIsbnError, normalizeIsbn } from '@headgate/operators';
import type { NewRecord } from '@headgate/topics';
import { TOPICS, topicSpecs } from '../records/topic-names.ts';
import { openTopicLog } from '../run/open-topic-log.ts';
import { type CommandContext, readTopicsConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface EnqueueOptions {
  readonly service: 'followers' | 'books';
  /** Users or ISBNs; read from stdin, one a line, when there are none or the only one is `-`. */
  readonly entries: readonly string[];
  /** Names of authors (books only). */
  readonly authors: readonly string[];
}

/** Records appended at once. */
const CHUNK = 1_000;

/** Adds wishes to a requests topic, each a new one whatever was there before. Resolves to the exit code. */
export async function enqueue({ service, entries, authors }: EnqueueOptions, context: CommandContext): Promise<number> {
  const topics = await readTopicsConfig(context);
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines = wanted.length === 1 && wanted[0] === '-' ? await readLines(context.stdin) : wanted;
  const wishes = service === 'followers' ? lines.map(userWish) : [...lines.map(isbnWish), ...authors.map(authorWish)];
  if (wishes.length === 0) throw new UsageError('enqueue: nothing to add. Name users or ISBNs, or write them to stdin, one a line.');
  const log = await openTopicLog(topics);
  try {
    await log.createTopics(topicSpecs(topics.lanes));
    for (let i = 0; i < wishes.length; i += CHUNK) await log.append(wishes.slice(i, i + CHUNK));
  } finally {
    await log.close();
  }
  context.stderr.write(`${wishes.length} added to ${wishes[0]?.topic}\n`);
  return 0;
}

async function readLines(stdin: NodeJS.ReadableStream): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stdin, crlfDelay: Infinity })) {
    const text = line.trim();
    if (text !== '' && !text.startsWith('#')) lines.push(text);
  }
  return lines;
}

/** `@name` and `name` are screen names, digits (or `id:digits`) a user id, as in the keys of records. */
function userWish(text: string): NewRecord {
  const id = /^(?:id:)?(\d{1,20})$/.exec(text)?.[1];
  if (id !== undefined) return { topic: TOPICS.followersRequests, key: id, value: JSON.stringify({ userId: id }) };
  const screenName = text.replace(/^@/, '');
  if (!/^\w{1,50}$/.test(screenName)) {
    throw new UsageError(`enqueue: ${JSON.stringify(text)} is no user. Write @name, or the digits of a user id. Nothing was added.`);
  }
  return { topic: TOPICS.followersRequests, key: `@${screenName}`, value: JSON.stringify({ screenName }) };
}

function isbnWish(text: string): NewRecord {
  try {
    const isbn = normalizeIsbn(text);
    return { topic: TOPICS.booksRequests, key: isbn, value: JSON.stringify({ isbn }) };
  } catch (error) {
    if (error instanceof InvalidIsbnError) throw new UsageError(`enqueue: ${error.message} Nothing was added.`, { cause: error });
    throw error;
  }
}

function authorWish(author: string): NewRecord {
  if (author.trim() === '') throw new UsageError('enqueue: --author takes a name. Nothing was added.');
  return { topic: TOPICS.booksRequests, key: author, value: JSON.stringify({ author }) };
}
