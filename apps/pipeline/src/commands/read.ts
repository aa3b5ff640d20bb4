import { once } from 'node:events';
import type { TopicRecord } from '@headgate/topics';
import { TOPICS } from '../records/topic-names.ts';
import { countWords } from '../status/text/number-words.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { safeText } from '../status/text/safe-text.ts';
import { warnOfClosedStdout } from './closed-stdout.ts';
import { type CommandContext, openLog, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface ReadOptions {
  readonly topic: string;
  readonly follow: boolean;
  /** The first offset of every partition; default the earliest. */
  readonly from?: number;
  /** Most records. */
  readonly max?: number;
}

/** More records than these that can't be shown are counted, not named. */
const NAMED = 10;

/**
 * Writes committed records to stdout: for people, or with `--json` a line of JSON each. A record with bytes that are no text is
 * named on stderr in its place, and the exit code is 1 then. Resolves to the exit code.
 */
export async function read({ topic, follow, from, max = Infinity }: ReadOptions, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal, json } = context;
  await warnOfClosedStdout(context);
  const log = await openLog(context, (await readLogConfig(context)).topics);
  const gone = new AbortController();
  let failure: NodeJS.ErrnoException | undefined;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read us has seen enough: `| head` is no error.
    if (error.code !== 'EPIPE') failure ??= error;
    gone.abort();
  });
  try {
    const [found] = await log.listTopics([topic]);
    if (found === undefined) {
      // One that a run will create has no records yet.
      if (Object.values<string>(TOPICS).includes(topic)) return 0;
      const there = (await log.listTopics()).map(({ name }) => name);
      throw new UsageError(`There is no topic ${topic}. There are: ${[...new Set([...Object.values(TOPICS), ...there])].join(', ')}.`);
    }
    let left = max;
    if (left <= 0) return 0;
    const over = AbortSignal.any([signal, gone.signal]);
    let unreadable = 0;
    const records = log.read({ topic, follow, unreadable: 'mark', ...(from !== undefined && { from }), signal: over });
    for await (const record of records) {
      if (record.unreadable !== undefined) {
        unreadable += 1;
        if (unreadable <= NAMED) stderr.write(`headgate: ${safeText(record.unreadable.message, Infinity)}\n`);
        continue;
      }
      const line = json ? escapedControls(jsonLine(record)) : plainLine(record);
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain', { signal: over }).catch(() => undefined);
      left -= 1;
      if (left <= 0 || over.aborted) break;
    }
    if (failure !== undefined)
      throw new OutputError(`The records could not be written to stdout (${failure.code}). What was written before is not all.`);
    if (unreadable > 0) stderr.write(`headgate: ${countWords(unreadable, 'record')} of ${topic} can't be shown\n`);
    if (signal.aborted) return 130;
    return unreadable > 0 ? 1 : 0;
  } finally {
    await log.close();
  }
}

class OutputError extends Error {
  override readonly name = 'OutputError';
  readonly code = 'HEADGATE_OUTPUT';
  readonly retryable = true;
}

/** A record as one line of JSON; a value that is JSON stands in it as it is, so that no number of it is spelled anew. */
function jsonLine({ topic, partition, offset, key, headers, value }: TopicRecord): string {
  const before = JSON.stringify({ topic, partition, offset, key, headers });
  return `${before.slice(0, -1)},"value":${isOneLineOfJson(value) ? value : JSON.stringify(value)}}`;
}

function isOneLineOfJson(value: string | null): value is string {
  if (value === null || /[\n\r]/.test(value)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

function plainLine({ partition, offset, key, value }: TopicRecord): string {
  return [`${partition}:${offset}`, safeText(key ?? ''), safeText(value ?? '', Infinity)].join('\t');
}
