import { type TopicRecord, textOf } from '@headgate/topics';
import { topicNames } from '@headgate/pipeline';
import { nearest } from '@headgate/pipeline/internal';
import { BUILT_IN, withBuiltIn } from '../config/built-in.ts';
import { type ConfigFile, openConfig } from '../config/config-file.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import { deadLetter, topicSchemas, valueJsonSchema } from '../records/topic-schemas.ts';
import { runTopics } from '../run/topics.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { safeText } from '../status/text/safe-text.ts';
import { type CommandContext, openLogToRead } from './command-context.ts';
import { OutputError, pacedOutput } from './paced-output.ts';
import { type TableFormat, tableFormat, writeTable } from './read-table.ts';
import { type RecordChoice, base64, isOneLineOfJson, newestPerKey, momentOf, selectedRecords, valueLine } from './selected-records.ts';
import { UsageError } from './usage-error.ts';

export interface ReadOptions extends RecordChoice {
  /** The topic's name in the log, or its name without the prefix. */
  readonly topic: string;
  /** Maximum records to write. Default: no limit. */
  readonly max?: number;
  /** Whether to write only the newest of these records of each key. Default: false. */
  readonly newest?: boolean;
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
  { topic: requested, max = Infinity, newest = false, values = false, format: requestedFormat, out, since, ...choice }: ReadOptions,
  context: CommandContext,
): Promise<number> {
  const { clock, stdout, stderr, signal, json } = context;
  const asLine = values ? (record: BytesRecord) => escapedControls(valueLine(record.value)) : json ? jsonLine : plainLine;
  const format = requestedFormat === undefined && out === undefined ? undefined : tableFormat(requestedFormat, out, context);
  const selection = { ...choice, ...(since !== undefined && { sinceMs: momentOf(since, clock.epochMs()) }) };
  const config = await openConfig(context);
  const topics = config.topics();
  const names = topicNames(topics);
  const own = knownTopics(config);
  await using log = await openLogToRead(context, topics);
  const named = names(requested);
  const existing = (await log?.listTopics([...new Set([named, requested])])) ?? [];
  // The name without the prefix is more likely meant, even if a topic of another group has the name as it is.
  const isNamed = own.includes(named) || existing.some(({ name }) => name === named);
  const topic = isNamed ? named : requested;
  const found = existing.find(({ name }) => name === topic);
  if (found === undefined && !own.includes(topic)) {
    // A section with errors can be the one that defines the topic.
    config.definition(pipelineOf(requested, topics));
    const others = ((await log?.listTopics(undefined, { withOffsets: false })) ?? []).map(({ name }) => name);
    const known = [...new Set([...own, ...others])];
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
    const selected = selectedRecords(log, found, selection, over);
    for await (const record of newest ? newestPerKey(selected) : selected) {
      yield record;
      count += 1;
      if (count >= max || over.aborted) return;
    }
  };
  if (format !== undefined) return await writeTable(records, topic, valueSchemaOf(topic, config), format, out, topics, context);
  const output = pacedOutput(stdout, signal);
  let written = 0;
  for await (const record of records(output.over)) {
    await output.write(`${asLine(record)}\n`);
    written += 1;
  }
  if (found !== undefined && max > 0 && written === 0 && (since ?? choice.key ?? choice.from) !== undefined && !signal.aborted)
    stderr.write(`No record of ${topic} matches these options.\n`);
  if (output.failure !== undefined) throw new OutputError('stdout', output.failure);
  return signal.aborted ? 130 : 0;
}

/** The topics of the pipelines that can be loaded. Unless all are the user's own, those of the built-in ones, too. */
function knownTopics(config: ConfigFile): readonly string[] {
  const { definitions, pipelines } = config;
  const hasBuiltIn = definitions.some(({ name }) => BUILT_IN.some(({ definition }) => definition.name === name));
  const known = hasBuiltIn || pipelines.length === 0 ? withBuiltIn(definitions) : definitions;
  return runTopics({ topics: config.topics(), pipelines, definitions: known }).map(({ name }) => name);
}

/** The pipeline of a topic, by the topic's name in the log or without the prefix. A pipeline's name has no dot. */
function pipelineOf(topic: string, { names, prefix }: TopicsConfig): string {
  const [original = topic] = Object.entries(names).find(([, own]) => own === topic) ?? [];
  const [name = ''] = (original.startsWith(prefix) ? original.slice(prefix.length) : original).split('.');
  return name;
}

/** The JSON Schema of a topic's values, by the topic's name in the log; empty for a topic that Headgate doesn't know. */
function valueSchemaOf(topic: string, config: ConfigFile): object {
  const topics = config.topics();
  const names = topicNames(topics);
  const pipeline = pipelineOf(topic, topics);
  // The form of a dead letter doesn't depend on the section.
  if (names(`${pipeline}.dead-letters`) === topic) return valueJsonSchema(deadLetter);
  const definition = config.definition(pipeline);
  const known = definition === undefined ? [] : topicSchemas(definition);
  return known.find((one) => names(one.topic) === topic)?.value ?? {};
}

type BytesRecord = TopicRecord<Uint8Array>;

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
