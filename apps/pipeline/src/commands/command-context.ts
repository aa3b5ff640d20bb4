import type { DefinitionInfo, StopDeadline } from '@headgate/pipeline';
import type { Clock } from '@headgate/throttle';
import { onAbort, orAborted } from '@headgate/throttle/internal';
import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import { type ConfigFile, openConfig } from '../config/config-file.ts';
import type { Config } from '../config/config.ts';
import type { TopicsConfig } from '../config/topics-section.ts';
import { formatProblems, sayProblem } from '../config/format-problems.ts';
import { logExists, openTopicLog } from '../run/open-topic-log.ts';
import { type ConfigOfLog, prepareTopics } from '../run/topics.ts';
import { noPipeline } from './usage-error.ts';
import { logOutageLabel, logEventWords } from '../status/format-outage.ts';
import { jsonMessage } from '../status/text/json-message.ts';
import type { Output } from '../status/text/plain-output.ts';
import { safeText } from '../status/text/safe-text.ts';
import type { Terminal } from '../status/terminal.ts';

/** The global options and the parts of the process that commands use. */
export interface CommandContext {
  /** The configuration file, as the user named it, or the default file. */
  readonly file: string;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  /** Stream for messages: stderr without terminal control characters. */
  readonly stderr: Output;
  /** The original `stderr`, to move the cursor or ask a question. */
  readonly terminal: Terminal;
  readonly clock: Clock;
  /** Aborted by the first signal, such as SIGINT. */
  readonly signal: AbortSignal;
  /** The time limits of a stop. Default: those of `start`. */
  readonly deadline?: StopDeadline;
  /** The global option `--json`. */
  readonly json: boolean;
}

/** Reads the whole configuration, and prints warnings about it to stderr, with `--json` as log lines. Throws a `ConfigError` if it has errors. */
export async function readConfig(context: CommandContext): Promise<Config> {
  const { file, stderr, json, clock } = context;
  const opened = await openConfig(context);
  const config = opened.all();
  const { warnings } = opened;
  if (json) {
    const at = clock.epochMs();
    for (const warning of warnings) stderr.write(jsonMessage('warn', at, { event: 'config' }, safeText(sayProblem(file, warning), 2_000)));
  } else if (warnings.length > 0) stderr.write(formatProblems(file, [], warnings));
  return config;
}

/**
 * Creates the missing topics. Prints the warnings of `prepareTopics` to stderr only if it has created a topic. Throws as `prepareTopics`
 * does.
 */
export async function createTopics({ stderr }: Pick<CommandContext, 'stderr'>, log: TopicLog, config: ConfigOfLog): Promise<void> {
  const { created, warnings } = await prepareTopics(log, config);
  if (created.length > 0) for (const message of warnings) stderr.write(`${message}\n`);
}

/** Opens the log, and reports its outages to stderr while it is open. Closes it when `signal` aborts. */
export async function openLog(
  { stderr, signal }: Pick<CommandContext, 'stderr' | 'signal'>,
  topics: TopicsConfig,
  { readOnly = false }: { readonly readOnly?: boolean } = {},
): Promise<TopicLog> {
  const { driver } = topics;
  let isOpen = false;
  let isReported = false;
  const onAvailability = (change: AvailabilityChange): void => {
    // An outage before the log is open isn't reported here: a failed opening throws the driver's own error.
    if (change.available ? !isReported : !isOpen) return;
    isReported = !change.available;
    stderr.write(
      change.available
        ? `${logEventWords({ type: 'log-available', driver })}\n`
        : `${logOutageLabel({ driver })} (${change.reason}): waiting until it's back; press Ctrl-C to stop\n`,
    );
  };
  signal.throwIfAborted();
  const opening = openTopicLog(topics, onAvailability, { readOnly });
  const log = await orAborted(signal, opening).catch(async (error: unknown) => {
    // After an abort, the log can still open. Close it then.
    opening.then(
      (late) => late.close(),
      () => undefined,
    );
    throw error;
  });
  isOpen = true;
  onAbort(signal, () => void log.close());
  return log;
}

/** Like `openLog`, but opens the log only for reading. Resolves to undefined if there is no embedded log yet. */
export async function openLogToRead(
  context: Pick<CommandContext, 'stderr' | 'signal'>,
  topics: TopicsConfig,
): Promise<TopicLog | undefined> {
  return (await logExists(topics)) ? await openLog(context, topics, { readOnly: true }) : undefined;
}

/** The definition of a pipeline. Throws a `UsageError` for an unknown one, and the errors of its section. */
export function definitionIn(config: ConfigFile, name: string, command: string): DefinitionInfo {
  const found = config.definition(name);
  if (found === undefined) throw noPipeline(command, name, config.knownNames);
  return found;
}
