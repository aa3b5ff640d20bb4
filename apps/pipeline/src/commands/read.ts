import { type TopicRecord, textOf } from '@headgate/topics';
import { topicNames } from '@headgate/pipeline';
import { nearest } from '@headgate/pipeline/internal';
import { BUILT_IN } from '../config/built-in.ts';
import { topicSchemas } from '../records/topic-schemas.ts';
import { runTopics } from '../run/topics.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, type LogConfig, assertTopicKnown, openLogToRead, readLogConfig } from './command-context.ts';
import { OutputError, pacedOutput } from './paced-output.ts';
import { type TableFormat, tableFormat, writeTable } from './read-table.ts';
import { type RecordChoice, base64, isOneLineOfJson, selectedRecords, selectionOf, valueLine } from './selected-records.ts';
import { UsageError } from './usage-error.ts';

export interface ReadOptions extends RecordChoice {
  /** The topic's name in the log, or its name without the prefix. */
  readonly topic: string;
  /** Maximum records to write. Default: no limit. */
  readonly max?: number;
  /** Whether to write only the values, as JSON lines. Default: false. */
  readonly values?: boolean;
  /** Writes a table in this format. Default: with `out`, the format of its extension, or ndjson. Without both, no table. */
  readonly format?: TableFormat;
  /** File, pipe or device for the table. Default: stdout. */
  readonly out?: string;
}

/**
 * Writes committed records to stdout: as text, or with `--json` as JSON lines. Bytes that aren't text appear in base64: after `base64:`, or
 * in JSON as `key_base64`, `value_base64` and `headers_base64` instead of `key`, `value` and the header. With `format` or `out`, writes a table
 * instead. Resolves to the exit code.
 */
export async function read(
  { topic: requested, max = Infinity, values = false, format: requestedFormat, out, ...choice }: ReadOptions,
  context: CommandContext,
): Promise<number> {
  const { clock, stdout, stderr, signal, json } = context;
  const asLine = values ? (record: BytesRecord) => escapedControls(valueLine(record.value)) : json ? jsonLine : plainLine;
  const format = requestedFormat === undefined && out === undefined ? undefined : tableFormat(requestedFormat, out, context);
  const selection = selectionOf(choice, clock.epochMs());
  const config = await readLogConfig(context);
  const { topics, pipelines, definitions } = config;
  // Topics of the built-in pipelines are known, unless the configuration has only pipelines of the user.
  const knowsBuiltIn = pipelines.length === 0 || BUILT_IN.some(({ definition: { name } }) => pipelines.some((one) => one.name === name));
  const own = runTopics({ topics, pipelines, ...(knowsBuiltIn && { definitions }) }).map(({ name }) => name);
  await using log = await openLogToRead(context, topics);
  const named = topicNames(topics)(requested);
  // Without its options, a pipeline's topics are unknown: a name can be a default name, or the name in the log.
  const isOfUnknown = definitions.some(({ name, dependsOnOptions }) => dependsOnOptions === true && requested.startsWith(`${name}.`));
  const isInLog =
    Object.values(topics.names).includes(requested) || definitions.some(({ name }) => requested.startsWith(`${topics.prefix}${name}.`));
  const isDefault = Object.hasOwn(topics.names, requested) || (isOfUnknown && !isInLog);
  const topic = isDefault || own.includes(named) ? named : requested;
  const [found] = (await log?.listTopics([topic])) ?? [];
  if (found === undefined && !own.includes(topic)) {
    assertTopicKnown(config, requested);
    const existing = ((await log?.listTopics(undefined, { withOffsets: false })) ?? []).map(({ name }) => name);
    const known = [...new Set([...own, ...existing])];
    const meant = nearest(topic, known);
    throw new UsageError(
      `There is no topic ${topic}. ${meant === undefined ? `There are: ${known.join(', ')}.` : `Did you mean ${meant}?`}`,
    );
  }
  if (found === undefined && choice.follow === true) {
    stderr.write(`headgate: there is no topic ${topic} yet, so --follow can't wait for its records. A run creates it: start one first.\n`);
    return 1;
  }
  const records = async function* (over: AbortSignal): AsyncGenerator<BytesRecord, void, undefined> {
    // A topic that a run will create has no records yet.
    if (log === undefined || found === undefined || max <= 0) return;
    let count = 0;
    for await (const record of selectedRecords(log, found, selection, over)) {
      yield record;
      count += 1;
      if (count >= max || over.aborted) return;
    }
  };
  if (format !== undefined) {
    const schema = valueSchemaOf(topic, config);
    // The columns of a topic don't depend on whether a variable is set.
    if (schema === undefined) assertTopicKnown(config, requested);
    return await writeTable(records, { topic, schema: schema ?? {}, format, out, topics }, context);
  }
  const output = pacedOutput({ stream: stdout, signal });
  let written = 0;
  for await (const record of records(output.over)) {
    await output.write(`${asLine(record)}\n`);
    written += 1;
  }
  if (found !== undefined && max > 0 && written === 0 && isChoice(choice) && !signal.aborted)
    stderr.write(`No record of ${topic} matches these options.\n`);
  if (output.failure !== undefined) throw new OutputError('stdout', output.failure);
  return signal.aborted ? 130 : 0;
}

/** The JSON Schema of a topic's values, by the topic's name in the log. Undefined if it isn't known. */
function valueSchemaOf(topic: string, { topics, definitions }: LogConfig): object | undefined {
  const names = topicNames(topics);
  return definitions
    .flatMap((one) => topicSchemas(one).filter(({ kind }) => one.dependsOnOptions !== true || kind !== 'requests'))
    .find((one) => names(one.topic) === topic)?.value;
}

type BytesRecord = TopicRecord<Uint8Array>;

function isChoice({ since, key, from }: RecordChoice): boolean {
  return since !== undefined || key !== undefined || from !== undefined;
}

/** A record as one line of JSON. A value that is one line of JSON is inserted unchanged, so that its numbers keep their spelling. */
function jsonLine({ topic, partition, offset, timestampMs, key, headers, value }: BytesRecord): string {
  const texts = Object.entries(headers).map(([name, bytes]) => [name, textOf(bytes), bytes] as const);
  const others = texts.filter(([, text]) => text === undefined).map(([name, , bytes]) => [name, base64(bytes)] as const);
  const before = JSON.stringify({
    topic,
    partition,
    offset,
    time: new Date(timestampMs).toISOString(),
    ...jsonField('key', key),
    headers: Object.fromEntries(texts.flatMap(([name, text]) => (text === undefined ? [] : [[name, text]]))),
    ...(others.length > 0 && { headers_base64: Object.fromEntries(others) }),
  });
  const text = value && textOf(value);
  const last = isOneLineOfJson(text) ? `"value":${text}}` : JSON.stringify(jsonField('value', value)).slice(1);
  return escapedControls(`${before.slice(0, -1)},${last}`);
}

function jsonField(name: string, bytes: Uint8Array | null): Readonly<Record<string, string | null>> {
  const text = bytes && textOf(bytes);
  return text === undefined && bytes !== null ? { [`${name}_base64`]: base64(bytes) } : { [name]: text ?? null };
}

function plainLine({ partition, offset, key, value }: BytesRecord): string {
  return [`${partition}:${offset}`, plainField(key, undefined), plainField(value, Infinity)].join('\t');
}

function plainField(bytes: Uint8Array | null, maxLength: number | undefined): string {
  if (bytes === null) return '';
  const text = textOf(bytes);
  return text === undefined ? `base64:${base64(bytes)}` : safeText(text, maxLength);
}
