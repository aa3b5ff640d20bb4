import { createInterface } from 'node:readline/promises';
import { type DefinitionInfo, type KeyedRequest, topicNames } from '@headgate/pipeline';
import type { NewRecord } from '@headgate/topics';
import { prepareTopics } from '../run/topics.ts';
import { type CommandContext, openLog, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface EnqueueOptions {
  readonly pipeline: string;
  /** Requests, a line of text each; read from stdin, one a line, when there are none or the only one is `-`. */
  readonly entries: readonly string[];
  /** Names of authors (books only). */
  readonly authors: readonly string[];
}

/** Adds requests to a requests topic, each a new one whatever was there before. Resolves to the exit code. */
export async function enqueue({ pipeline, entries, authors }: EnqueueOptions, context: CommandContext): Promise<number> {
  const { topics, pipelines, definitions, configured } = await readLogConfig(context);
  const definition = definitions.find(({ name }) => name === pipeline);
  if (definition === undefined) {
    throw new UsageError(`enqueue: there is no pipeline ${pipeline}. There are ${definitions.map(({ name }) => name).join(', ')}.`);
  }
  if (authors.length > 0 && pipeline !== 'books') throw new UsageError('enqueue: --author goes with books.');
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines = wanted.length === 1 && wanted[0] === '-' ? await readLines(context) : wanted.map((text) => ({ text, place: '' }));
  const topic = topicNames(topics)(`${pipeline}.requests`);
  const requests = requestRecords(definition, lines, authors).map((request): NewRecord => ({ topic, ...request }));
  if (requests.length === 0) throw new UsageError('enqueue: nothing to add. Name requests, or write them to stdin, one a line.');
  const log = await openLog(context, topics);
  try {
    await prepareTopics({ log, config: { topics, pipelines, definitions: [definition] } });
    // All or nothing: after a failure the same command may be typed again.
    await log.append(requests);
  } finally {
    await log.close();
  }
  // A request waits for a run that has its service.
  if (configured?.includes(pipeline) === false)
    context.stderr.write(`${context.file} has no ${pipeline}: section; what is added waits until a run has one.\n`);
  context.stderr.write(`${requests.length} added to ${topic}\n`);
  return 0;
}

interface RequestLine {
  readonly text: string;
  /** For messages: `stdin, line 3: `. */
  readonly place: string;
}

async function readLines({ stdin, signal }: Pick<CommandContext, 'stdin' | 'signal'>): Promise<RequestLine[]> {
  const lines: RequestLine[] = [];
  let number = 0;
  for await (const line of createInterface({ input: stdin, crlfDelay: Infinity, signal })) {
    const text = line.trim();
    number += 1;
    if (text !== '' && !text.startsWith('#')) lines.push({ text, place: `stdin, line ${number}: ` });
  }
  signal.throwIfAborted();
  return lines;
}

/** Requests as the pipeline's topic takes them. */
function requestRecords({ requests }: DefinitionInfo, lines: readonly RequestLine[], authors: readonly string[]): KeyedRequest[] {
  const keyed = (make: () => KeyedRequest, place = ''): KeyedRequest => {
    try {
      const request = make();
      requests.check(request.value);
      return request;
    } catch (error) {
      throw new UsageError(`enqueue: ${place}${(error as Error).message} Nothing was added.`, { cause: error });
    }
  };
  return [
    ...lines.map(({ text, place }) => keyed(() => requests.parseLine(text), place)),
    ...authors.map((author) => keyed(() => requests.keyed({ author: author.trim() }))),
  ];
}
