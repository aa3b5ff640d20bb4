import { type ConfigFile, openConfig } from '../config/config-file.ts';
import {
  type DefinitionInfo,
  type OpenDeadLetter,
  dismissDeadLetters,
  openDeadLetters,
  replayDeadLetters,
  topicNames,
} from '@headgate/pipeline';
import { commandsFor } from '../config/commands-for.ts';
import { padWidth } from '../status/text/cells.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { countWords, groupedNumber } from '../status/text/number-words.ts';
import { plainOutput } from '../status/text/plain-output.ts';
import { safeText } from '../status/text/safe-text.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import { type CommandContext, createTopics, openLog, definitionIn, openLogToRead } from './command-context.ts';
import { pacedOutput } from './paced-output.ts';
import { noPipeline } from './usage-error.ts';

/** Chooses among the open dead letters of a pipeline. */
export interface DeadLetterFilter {
  /** Name of the pipeline, or of its dead-letters topic. */
  readonly of: string;
  /** Only with this code. Default: every code. */
  readonly code?: string;
  /** Only with this key. Default: every key. */
  readonly key?: string;
}

/** Options of `replay` and `dismiss`. */
export interface CloseOptions extends DeadLetterFilter {
  /** Whether to only count the dead letters. Default: false. */
  readonly dryRun?: boolean;
}

/** Maximum skipped dead letters that `replay` reports one by one. */
const LISTED = 10;
/** Maximum keys that the list names for each code. */
const NAMED = 3;

/** Writes the open dead letters of a pipeline to stdout, grouped by code, or with `--json` one per line. Resolves to the exit code. */
export async function deadLetters(choice: DeadLetterFilter, context: CommandContext): Promise<number> {
  const { stdout, stderr, signal, json } = context;
  const config = await openConfig(context);
  const topics = config.topics();
  const names = topicNames(topics);
  const pipeline = chosen('dead-letters', choice.of, config);
  const topic = names(`${pipeline}.dead-letters`);
  await using log = await openLogToRead(context, topics);
  const output = pacedOutput(stdout, signal);
  const groups = new Map<string, DeadLetterGroup>();
  let isAny = false;
  const where = { pipeline, group: topics.group, names, signal: output.over };
  for await (const deadLetter of log === undefined ? [] : openDeadLetters({ log, ...where })) {
    if (!isChosen(deadLetter, choice)) continue;
    isAny = true;
    if (json) await output.write(`${jsonLine(deadLetter, topic)}\n`);
    else group(groups, deadLetter);
  }
  // A `--code` or `--key` that matches nothing could be misspelled, so it is reported on stderr.
  if (!isAny && !signal.aborted && (choice.code ?? choice.key) !== undefined) stderr.write(`${noneOpen(topic, choice, context)}\n`);
  else if (!json && !signal.aborted) plainOutput(stdout).write(groupLines(groups, topic, pipeline, context));
  return signal.aborted ? 130 : 0;
}

/**
 * Re-enqueues the jobs of open dead letters, each once. A job that no run could process is skipped, and its dead letter stays open.
 * Resolves to the exit code: 130 if stopped, otherwise 0, even if jobs were skipped.
 */
export async function replay(choice: CloseOptions, context: CommandContext): Promise<number> {
  const { stderr } = context;
  const { dryRun = false } = choice;
  let reported = 0;
  return await closing('replay', choice, context, async ({ definition, topic, ...options }) => {
    const { requests } = definition;
    const { replayed, left } = await replayDeadLetters({
      ...options,
      dryRun,
      requests,
      onLeft({ partition, offset, key, reason }) {
        reported += 1;
        if (reported <= LISTED) stderr.write(`skipped ${topic} ${partition}:${offset}: ${safeText(`${key ?? 'no key'}: ${reason}`)}\n`);
      },
    });
    const none = replayed === 0 ? `: ${noneOpen(topic, choice, context)}` : '';
    const stay = left > 0 ? `, ${left} skipped: no run can process them; use dismiss to acknowledge them` : none;
    return `${replayed} ${dryRun ? 'would be ' : ''}re-enqueued into ${options.names(`${requests.name}.requests`)}${stay}`;
  });
}

/** Acknowledges open dead letters: they stay in their topic, but are no longer reported. Resolves to the exit code. */
export async function dismiss(choice: CloseOptions, context: CommandContext): Promise<number> {
  const { dryRun = false } = choice;
  return await closing('dismiss', choice, context, async ({ definition, topic, ...options }) => {
    const dismissed = await dismissDeadLetters({ ...options, dryRun, pipeline: definition.name });
    const none = dismissed === 0 ? `: ${noneOpen(topic, choice, context)}` : '';
    return `${countWords(dismissed, 'dead letter')} ${dryRun ? 'would be ' : ''}dismissed${none}`;
  });
}

function noneOpen(topic: string, { of, code, key }: DeadLetterFilter, context: CommandContext): string {
  const chosenBy = [...(code === undefined ? [] : [`code ${code}`]), ...(key === undefined ? [] : [`key ${key}`])];
  if (chosenBy.length === 0) return `${topic} has no open dead letter`;
  const list = `To list all: ${commandsFor(context)('dead-letters', of)}`;
  return `${topic} has no open dead letter with ${safeText(chosenBy.join(' and '))}. ${list}`;
}

async function closing(
  command: 'replay' | 'dismiss',
  choice: CloseOptions,
  context: CommandContext,
  close: (
    options: Pick<Parameters<typeof replayDeadLetters>[0], 'log' | 'group' | 'signal' | 'where'> & {
      readonly names: (topic: string) => string;
      readonly definition: DefinitionInfo;
      readonly topic: string;
    },
  ) => Promise<string>,
): Promise<number> {
  const { stderr, signal } = context;
  const config = await openConfig(context);
  const topics = config.topics();
  const definition = definitionIn(config, chosen(command, choice.of, config), command);
  const { pipelines } = config;
  const names = topicNames(topics);
  const topic = names(`${definition.name}.dead-letters`);
  await using log = choice.dryRun === true ? await openLogToRead(context, topics) : await openLog(context, topics);
  if (log === undefined) {
    stderr.write(`${noneOpen(topic, choice, context)}\n`);
    return 0;
  }
  if (choice.dryRun !== true) await createTopics(context, log, { topics, pipelines, definitions: [definition] });
  const where = (deadLetter: OpenDeadLetter): boolean => isChosen(deadLetter, choice);
  stderr.write(`${await close({ log, group: topics.group, names, signal, where, definition, topic })}\n`);
  return signal.aborted ? 130 : 0;
}

/** The name of the pipeline that the user has named, perhaps by its dead-letters topic. Throws a `UsageError` for an unknown one. */
function chosen(command: string, of: string, config: ConfigFile): string {
  const names = topicNames(config.topics());
  const known = config.knownNames;
  const found = known.find((name) => [name, `${name}.dead-letters`, names(`${name}.dead-letters`)].includes(of));
  if (found !== undefined) return found;
  throw noPipeline(command, of, known);
}

function isChosen(deadLetter: OpenDeadLetter, { code, key }: DeadLetterFilter): boolean {
  return (code === undefined || deadLetter.code === code) && (key === undefined || deadLetter.key === key);
}

function jsonLine({ partition, offset, key, code, message, timestampMs }: OpenDeadLetter, topic: string): string {
  return escapedControls(JSON.stringify({ topic, partition, offset, time: new Date(timestampMs).toISOString(), key, code, message }));
}

/** The open dead letters of one code. */
interface DeadLetterGroup {
  count: number;
  /** Number of the dead letters whose keys aren't in `keys`. */
  unnamed: number;
  /** At most `NAMED` of the keys. */
  readonly keys: Set<string>;
  readonly firstAt: number;
  message: string;
}

function group(groups: Map<string, DeadLetterGroup>, { code, key, message, timestampMs }: OpenDeadLetter): void {
  const own = groups.get(code) ?? { count: 0, unnamed: 0, keys: new Set<string>(), firstAt: timestampMs, message };
  groups.set(code, own);
  own.count += 1;
  own.message = message;
  const name = key ?? 'no key';
  if (own.keys.size < NAMED) own.keys.add(name);
  else if (!own.keys.has(name)) own.unnamed += 1;
}

function groupLines(groups: ReadonlyMap<string, DeadLetterGroup>, topic: string, pipeline: string, context: CommandContext): string {
  if (groups.size === 0) return `No open dead letter in ${topic}.\n`;
  const times = createTimeWords();
  const now = context.clock.epochMs();
  const sorted = [...groups].toSorted(([, one], [, other]) => other.count - one.count);
  const width = Math.max(...sorted.map(([code]) => safeText(code, 60).length));
  const lines = sorted.flatMap(([code, { count, unnamed, keys, firstAt, message }]) => {
    const more = unnamed > 0 ? ` and ${groupedNumber(unnamed)} more` : '';
    const named = [...keys].map((key) => safeText(key, 40)).join(', ');
    return [
      `${padWidth(safeText(code, 60), width)}  ${countWords(count, 'dead letter')} since ${times.when(firstAt, now)}: ${named}${more}`,
      `  the last: ${safeText(message, 500)}`,
    ];
  });
  const commandFor = commandsFor(context);
  const choose = '[--code CODE] [--key KEY]';
  return `${lines.join('\n')}\nTo retry:         ${commandFor('replay', pipeline)} ${choose}\nTo acknowledge:   ${commandFor('dismiss', pipeline)} ${choose}\n`;
}
