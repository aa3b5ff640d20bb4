import { once } from 'node:events';
import type { TopicLog, TopicRecord } from '@headgate/topics';
import { openTopicLog } from '../run/open-topic-log.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, readTopicsConfig } from './command-context.ts';

export interface ReadOptions {
  readonly topic: string;
  readonly follow: boolean;
  /** The first offset of every partition; default the earliest. */
  readonly from?: number;
  /** Most records. */
  readonly max?: number;
}

/** Writes committed records to stdout: for people, or with `--json` a line of JSON each. Resolves to the exit code. */
export async function read({ topic, follow, from, max = Infinity }: ReadOptions, context: CommandContext): Promise<number> {
  const { stdout, signal, json } = context;
  const log = await openTopicLog(await readTopicsConfig(context));
  const gone = new AbortController();
  // Whoever read us has seen enough: `| head` is no error.
  stdout.on('error', () => gone.abort());
  try {
    if (!(await log.listTopics()).some(({ name }) => name === topic)) throw new NoSuchTopicError(await missing(log, topic));
    let left = max;
    if (left <= 0) return 0;
    const records = log.read({ topic, follow, ...(from !== undefined && { from }), signal: AbortSignal.any([signal, gone.signal]) });
    for await (const record of records) {
      const line = json ? jsonLine(record) : plainLine(record);
      if (!stdout.write(`${line}\n`) && !gone.signal.aborted) await Promise.race([once(stdout, 'drain'), once(gone.signal, 'abort')]);
      left -= 1;
      if (left <= 0 || gone.signal.aborted) break;
    }
    return signal.aborted ? 130 : 0;
  } finally {
    await log.close();
  }
}

class NoSuchTopicError extends Error {
  override readonly name = 'NoSuchTopicError';
  readonly code = 'HEADGATE_NO_SUCH_TOPIC';
  readonly retryable = false;
}

async function missing(log: TopicLog, topic: string): Promise<string> {
  const names = (await log.listTopics()).map(({ name }) => name);
  if (names.length === 0) return `There is no topic ${topic} yet: the log is empty. Put records into it with: headgate run`;
  return `There is no topic ${topic}. There are: ${names.join(', ')}.`;
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
  return [`${partition}:${offset}`, safeText(key ?? ''), safeText(value ?? '', 100_000)].join('\t');
}
