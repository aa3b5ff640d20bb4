import { once } from 'node:events';
import { type TopicRecord, textOf } from '@headgate/topics';
import { topicNames } from '@headgate/pipeline';
import { runTopics } from '../run/topics.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { safeText } from '../status/text/safe-text.ts';
import { warnOfClosedStdout } from './closed-stdout.ts';
import { type CommandContext, openLog, readLogConfig } from './command-context.ts';
import { UsageError } from './usage-error.ts';

export interface ReadOptions {
  /** As it is called on the log, or without its prefix. */
  readonly topic: string;
  readonly follow: boolean;
  /** The first offset of every partition; default the earliest. */
  readonly from?: number;
  /** Most records. */
  readonly max?: number;
}

/**
 * Writes committed records to stdout: for people, or with `--json` a line of JSON each. Bytes that are no text are written as base64: behind
 * `base64:`, or in JSON as `keyBase64`, `valueBase64` and `headersBase64` in place of `key`, `value` and the header. Resolves to the exit code.
 */
export async function read({ topic: asked, follow, from, max = Infinity }: ReadOptions, context: CommandContext): Promise<number> {
  const { stdout, signal, json } = context;
  await warnOfClosedStdout(context);
  const { topics, pipelines } = await readLogConfig(context);
  const own = runTopics({ topics, pipelines }).map(({ name }) => name);
  const log = await openLog(context, topics);
  const gone = new AbortController();
  let failure: NodeJS.ErrnoException | undefined;
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    // Whoever read us has seen enough: `| head` is no error.
    if (error.code !== 'EPIPE') failure ??= error;
    gone.abort();
  });
  try {
    const named = topicNames(topics)(asked);
    const topic = own.includes(named) ? named : asked;
    const [found] = await log.listTopics([topic]);
    if (found === undefined) {
      // One that a run will create has no records yet.
      if (own.includes(topic)) return 0;
      const there = (await log.listTopics()).map(({ name }) => name);
      throw new UsageError(`There is no topic ${topic}. There are: ${[...new Set([...own, ...there])].join(', ')}.`);
    }
    let left = max;
    if (left <= 0) return 0;
    const over = AbortSignal.any([signal, gone.signal]);
    const records = log.readBytes({ topic, follow, ...(from !== undefined && { from }), signal: over });
    for await (const record of records) {
      const line = json ? escapedControls(jsonLine(record)) : plainLine(record);
      if (!stdout.write(`${line}\n`)) await once(stdout, 'drain', { signal: over }).catch(() => undefined);
      left -= 1;
      if (left <= 0 || over.aborted) break;
    }
    if (failure !== undefined)
      throw new OutputError(`The records could not be written to stdout (${failure.code}). What was written before is not all.`);
    return signal.aborted ? 130 : 0;
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
function jsonLine({ topic, partition, offset, key, headers, value }: TopicRecord<Uint8Array>): string {
  const texts = Object.entries(headers).map(([name, bytes]) => [name, textOf(bytes), bytes] as const);
  const others = texts.filter(([, text]) => text === undefined).map(([name, , bytes]) => [name, base64(bytes)] as const);
  const before = JSON.stringify({
    topic,
    partition,
    offset,
    ...jsonField('key', key),
    headers: Object.fromEntries(texts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    ...(others.length > 0 && { headersBase64: Object.fromEntries(others) }),
  });
  const text = value && textOf(value);
  if (isOneLineOfJson(text)) return `${before.slice(0, -1)},"value":${text}}`;
  return `${before.slice(0, -1)},${JSON.stringify(jsonField('value', value)).slice(1)}`;
}

function jsonField(name: string, bytes: Uint8Array | null): Readonly<Record<string, string | null>> {
  const text = bytes && textOf(bytes);
  return text === undefined && bytes !== null ? { [`${name}Base64`]: base64(bytes) } : { [name]: text ?? null };
}

function isOneLineOfJson(value: string | null | undefined): value is string {
  if (value === null || value === undefined || /[\n\r]/.test(value)) return false;
  try {
    JSON.parse(value);
    return true;
  } catch {
    return false;
  }
}

function plainLine({ partition, offset, key, value }: TopicRecord<Uint8Array>): string {
  return [`${partition}:${offset}`, plainField(key, undefined), plainField(value, Infinity)].join('\t');
}

function plainField(bytes: Uint8Array | null, maxLength: number | undefined): string {
  if (bytes === null) return '';
  const text = textOf(bytes);
  return text === undefined ? `base64:${base64(bytes)}` : safeText(text, maxLength);
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64');
}
