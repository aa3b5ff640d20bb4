import { createInterface } from 'node:readline/promises';
import { type DefinitionInfo, type KeyedRequest, topicNames } from '@headgate/pipeline';
import { MissingRightError, type NewRecord, type TopicLog, textOf } from '@headgate/topics';
import { countWords } from '../status/text/number-words.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, createTopics, openLog, readPipeline } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface EnqueueOptions {
  readonly pipeline: string;
  /**
   * Jobs, each as a line of text. If there are neither entries nor authors, or the only entry is `-`, jobs are read from stdin, one per
   * line.
   */
  readonly entries: readonly string[];
  /** Names of authors (books only). */
  readonly authors: readonly string[];
}

/** Adds jobs to a requests topic. Each becomes a new job, even if the topic already contains an equal one. Resolves to the exit code. */
export async function enqueue({ pipeline, entries, authors }: EnqueueOptions, context: CommandContext): Promise<number> {
  const { config, definition } = await readPipeline('enqueue', pipeline, context);
  const { topics, pipelines, configured } = config;
  if (authors.length > 0 && pipeline !== 'books') throw new UsageError('enqueue: --author works only with books.');
  const wanted = entries.length === 0 && authors.length === 0 ? ['-'] : entries;
  const lines = wanted.length === 1 && wanted[0] === '-' ? await readLines(context) : wanted.map((text) => ({ text, place: '' }));
  const topic = topicNames(topics)(`${pipeline}.requests`);
  const requests = requestRecords(definition, lines, authors).map((request): NewRecord => ({ topic, ...request }));
  if (requests.length === 0) throw new UsageError('enqueue: nothing to add. Name jobs, or write them to stdin, one per line.');
  const log = await openLog(context, topics);
  let comparison: Comparison;
  try {
    await createTopics(context, { log, config: { topics, pipelines, definitions: [definition] } });
    comparison = await repeatedKeys({ log, topic, group: topics.group, requests, signal: context.signal });
    // One append adds all jobs or none, so that the command can be repeated after an error.
    await log.append(requests);
  } finally {
    await log.close();
  }
  // Jobs can be added for a pipeline that isn't configured yet.
  if (configured?.includes(pipeline) === false)
    context.stderr.write(`${context.file} has no ${pipeline} section; the jobs wait until it has one.\n`);
  context.stderr.write(`${countWords(requests.length, 'job')} added to ${topic}\n`);
  const { repeated, failure } = comparison;
  if (repeated.length > 0) {
    const named = repeated.slice(0, NAMED).map((key) => safeText(key, 60));
    const more = repeated.length > NAMED ? ` and ${repeated.length - NAMED} more` : '';
    context.stderr.write(
      `in more than one job: ${named.join(', ')}${more}. Headgate runs each job separately, so repeated requests count twice.\n`,
    );
  }
  if (failure !== undefined) {
    context.stderr.write(
      `Headgate couldn't compare the jobs with those that wait in ${topic}, so repeated requests may count twice: ${failure}\n`,
    );
  }
  return 0;
}

/** Maximum keys that the warning names. */
const NAMED = 3;
/** Maximum records that `repeatedKeys` reads. */
const MAX_COMPARED = 100_000;

interface RepeatedKeysOptions {
  readonly log: TopicLog;
  readonly topic: string;
  readonly group: string;
  readonly requests: readonly NewRecord[];
  readonly signal: AbortSignal;
}

interface Comparison {
  /** The keys that repeat among the jobs, or that occur in the topic after the group's committed offset. */
  readonly repeated: readonly string[];
  /** Why the topic couldn't be read to the end; undefined if it could, or if the user lacks the right. */
  readonly failure?: string;
}

/** Compares jobs with each other, and with those that wait in their topic. */
async function repeatedKeys({ log, topic, group, requests, signal }: RepeatedKeysOptions): Promise<Comparison> {
  const wanted = new Set<string>();
  const repeated = new Set<string>();
  for (const { key } of requests) if (typeof key === 'string') (wanted.has(key) ? repeated : wanted).add(key);
  try {
    let compared = 0;
    for await (const { key } of log.readBytes({ topic, group, signal })) {
      const text = key === null ? undefined : textOf(key);
      if (text !== undefined && wanted.has(text)) repeated.add(text);
      compared += 1;
      if (compared >= MAX_COMPARED) break;
    }
  } catch (error) {
    // Only a warning depends on these reads. Adding jobs needs no right to read them.
    if (!(error instanceof MissingRightError)) return { repeated: [...repeated], failure: safeText((error as Error).message) };
  }
  return { repeated: [...repeated] };
}

interface RequestLine {
  readonly text: string;
  /** Prefix for messages: `stdin, line 3: `, or empty for an argument. */
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

function requestRecords({ requests }: DefinitionInfo, lines: readonly RequestLine[], authors: readonly string[]): KeyedRequest[] {
  const keyed = (make: () => KeyedRequest, place = ''): KeyedRequest => {
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
