import { openConfig } from '../config/config-file.ts';
import { createInterface } from 'node:readline/promises';
import { type DefinitionInfo, type KeyedJob, topicNames } from '@headgate/pipeline';
import type { NewRecord } from '@headgate/topics';
import { countWords } from '../status/text/number-words.ts';
import { type CommandContext, createTopics, openLog, definitionIn } from './command-context.ts';
import { UsageError } from './usage-error.ts';

/**
 * Adds jobs to a requests topic. `entries`: jobs, each as a line of text; without entries and authors, or with the only entry `-`, jobs are
 * read from stdin, one per line. `authors`: names (books only). Each becomes a new job, even if the topic already contains an equal one.
 * Resolves to the exit code.
 */
export async function enqueue(
  pipeline: string,
  entries: readonly string[],
  authors: readonly string[],
  context: CommandContext,
): Promise<number> {
  const config = await openConfig(context);
  const { pipelines } = config;
  const topics = config.topics();
  const definition = definitionIn(config, pipeline, 'enqueue');
  if (authors.length > 0 && pipeline !== 'books') throw new UsageError('enqueue: --author works only with books.');
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines =
    wanted.length === 1 && wanted[0] === '-' ? await readLines(context) : wanted.map((text, i) => ({ text, place: `argument ${i + 1}: ` }));
  const topic = topicNames(topics)(`${pipeline}.requests`);
  const requests = requestRecords(definition, lines, authors).map((request): NewRecord => ({ topic, ...request }));
  if (requests.length === 0) throw new UsageError('enqueue: nothing to add. Name jobs, or write them to stdin, one per line.');
  await using log = await openLog(context, topics);
  await createTopics(context, log, { topics, pipelines, definitions: [definition] });
  // One append adds all jobs or none, so that the command can be repeated after an error.
  await log.append(requests);
  // Jobs can be added for a pipeline that isn't configured yet.
  if (!config.pipelineNames.includes(pipeline))
    context.stderr.write(`${context.file} has no ${pipeline} section; the jobs wait until it has one.\n`);
  context.stderr.write(`${countWords(requests.length, 'job')} added to ${topic}\n`);
  return 0;
}

interface RequestLine {
  readonly text: string;
  /** Prefix for messages: `stdin, line 3: ` or `argument 2: `. */
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

function requestRecords({ requests }: DefinitionInfo, lines: readonly RequestLine[], authors: readonly string[]): KeyedJob[] {
  const keyed = (make: () => KeyedJob, place = ''): KeyedJob => {
    try {
      const request = make();
      requests.check(request.value);
      return request;
    } catch (error) {
      throw new UsageError(`enqueue: ${place}${(error as Error).message.replace(/\.?$/, '.')} Nothing was added.`, { cause: error });
    }
  };
  return [
    ...lines.map(({ text, place }) => keyed(() => requests.parseLine(text), place)),
    ...authors.map((author) => keyed(() => requests.keyed({ author: author.trim() }))),
  ];
}
