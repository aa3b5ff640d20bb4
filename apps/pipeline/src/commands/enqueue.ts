import { createInterface } from 'node:readline/promises';
import { InvalidIsbnError, normalizeIsbn } from '@headgate/operators';
import { isScreenName, isUserId, type UserChoice, userLabel } from '@headgate/sources/followers/user';
import { authorFlaw } from '@headgate/sources/books';
import type { NewRecord } from '@headgate/topics';
import { shown } from '../config/problem.ts';
import { TOPICS } from '../records/topic-names.ts';
import { prepareTopics } from '../run/topics.ts';
import { type CommandContext, openLog, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface EnqueueOptions {
  readonly service: 'followers' | 'books';
  /** Users or ISBNs; read from stdin, one a line, when there are none or the only one is `-`. */
  readonly entries: readonly string[];
  /** Names of authors (books only). */
  readonly authors: readonly string[];
}

/** Adds wishes to a requests topic, each a new one whatever was there before. Resolves to the exit code. */
export async function enqueue({ service, entries, authors }: EnqueueOptions, context: CommandContext): Promise<number> {
  const { topics, config } = await readLogConfig(context);
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines = wanted.length === 1 && wanted[0] === '-' ? await readLines(context) : wanted;
  const wishes = service === 'followers' ? lines.map(userWish) : [...lines.map(isbnWish), ...authors.map(authorWish)];
  if (wishes.length === 0) throw new UsageError('enqueue: nothing to add. Name users or ISBNs, or write them to stdin, one a line.');
  const log = await openLog(context, topics);
  try {
    await prepareTopics({ log, config: { topics } });
    // All or nothing: after a failure the same command may be typed again.
    await log.append(wishes);
  } finally {
    await log.close();
  }
  // A wish waits for a run that has its service.
  if (config !== undefined && config[service] === undefined)
    context.stderr.write(`${context.file} has no ${service}: section; what is added waits until a run has one.\n`);
  context.stderr.write(`${wishes.length} added to ${wishes[0]?.topic}\n`);
  return 0;
}

async function readLines({ stdin, signal }: Pick<CommandContext, 'stdin' | 'signal'>): Promise<string[]> {
  const lines: string[] = [];
  for await (const line of createInterface({ input: stdin, crlfDelay: Infinity, signal })) {
    const text = line.trim();
    if (text !== '' && !text.startsWith('#')) lines.push(text);
  }
  signal.throwIfAborted();
  return lines;
}

function userWish(text: string): NewRecord {
  const user = namedUser(text);
  return { topic: TOPICS.followersRequests, key: userLabel(user), value: JSON.stringify(user) };
}

/** `@name` and `name` are screen names, digits (or `id:digits`) a user id, as in the keys of records. */
function namedUser(text: string): UserChoice {
  const userId = /^(?:id:)?(\d+)$/.exec(text)?.[1];
  if (userId !== undefined) {
    if (isUserId(userId)) return { userId };
    const asName = isScreenName(userId) ? ` If it is a screen name, write @${userId}.` : '';
    throw new UsageError(
      `enqueue: ${shown(text)} is no user id: an id is 18446744073709551615 at most, and has no zero in front.${asName} Nothing was added.`,
    );
  }
  const screenName = text.replace(/^@/, '');
  if (isScreenName(screenName)) return { screenName };
  throw new UsageError(`enqueue: ${shown(text)} is no user. Write @name, or the digits of a user id. Nothing was added.`);
}

function isbnWish(text: string): NewRecord {
  try {
    const isbn = normalizeIsbn(text);
    return { topic: TOPICS.booksRequests, key: isbn, value: JSON.stringify({ isbn }) };
  } catch (error) {
    if (error instanceof InvalidIsbnError)
      throw new UsageError(`enqueue: ${shown(text)} is not an ISBN: ${error.reason}. Nothing was added.`);
    throw error;
  }
}

function authorWish(author: string): NewRecord {
  const name = author.trim();
  const flaw = authorFlaw(name);
  if (flaw !== undefined) throw new UsageError(`enqueue: the author ${shown(author)} ${flaw}. Nothing was added.`);
  return { topic: TOPICS.booksRequests, key: name, value: JSON.stringify({ author: name }) };
}
