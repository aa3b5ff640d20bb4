import { createInterface } from 'node:readline/promises';
import type { KeyedRequest } from '@headgate/pipeline';
import { authorFlaw } from '@headgate/sources/books';
import type { NewRecord } from '@headgate/topics';
import { shown } from '../config/problem.ts';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
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

/** Adds requests to a requests topic, each a new one whatever was there before. Resolves to the exit code. */
export async function enqueue({ service, entries, authors }: EnqueueOptions, context: CommandContext): Promise<number> {
  const { topics, config } = await readLogConfig(context);
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines = wanted.length === 1 && wanted[0] === '-' ? await readLines(context) : wanted;
  const requests = requestRecords({ service, authors }, lines);
  if (requests.length === 0) throw new UsageError('enqueue: nothing to add. Name users or ISBNs, or write them to stdin, one a line.');
  const log = await openLog(context, topics);
  try {
    await prepareTopics({ log, config: { topics } });
    // All or nothing: after a failure the same command may be typed again.
    await log.append(requests);
  } finally {
    await log.close();
  }
  // A request waits for a run that has its service.
  if (config !== undefined && config[service] === undefined)
    context.stderr.write(`${context.file} has no ${service}: section; what is added waits until a run has one.\n`);
  context.stderr.write(`${requests.length} added to ${requests[0]?.topic}\n`);
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

/** The requests of a service, as its topic takes them. */
function requestRecords({ service, authors }: Pick<EnqueueOptions, 'service' | 'authors'>, lines: readonly string[]): NewRecord[] {
  const { requests: parser } = service === 'followers' ? followers.definition : books.definition;
  const topic = `${service}.requests`;
  const keyed = (make: () => KeyedRequest): NewRecord => {
    try {
      return { topic, ...make() };
    } catch (error) {
      throw new UsageError(`enqueue: ${(error as Error).message} Nothing was added.`, { cause: error });
    }
  };
  return [
    ...lines.map((line) => keyed(() => parser.parseLine(line))),
    ...authors.map((author) => keyed(() => parser.keyed(authorRequest(author)))),
  ];
}

function authorRequest(given: string): { readonly author: string } {
  const author = given.trim();
  const flaw = authorFlaw(author);
  if (flaw !== undefined) throw new TypeError(`the author ${shown(given)} ${flaw}.`);
  return { author };
}
