import { setFlagsFromString } from 'node:v8';
import { type RunEvent as EngineEvent, type Running, start, topicNames } from '@headgate/pipeline';
import type { AvailabilityChange, TopicLog } from '@headgate/topics';
import type { Config } from '../config/config.ts';
import { followersOptions } from '../pipelines/followers.ts';
import { type CrawlsLeft, crawlsLeft } from '../planning/crawls-left.ts';
import { errorText } from '../run/error-text.ts';
import { logAddress, openTopicLog } from '../run/open-topic-log.ts';
import { growthWords, prepareTopics } from '../run/topics.ts';
import { needsRepair, withStateAdvice } from '../run/state-lost.ts';
import { createReporter } from '../status/create-reporter.ts';
import { displayEvents, displayGauges } from '../status/engine-events.ts';
import type { Reporter } from '../status/reporter.ts';
import type { LogDriver, RunEvent, RunGauges } from '../status/run-event.ts';
import { type RunModel, createRunModel } from '../status/run-model.ts';
import { systemStatusClock } from '../status/status-clock.ts';
import { startStatusServer } from '../status/status-server.ts';
import { jsonMessage } from '../status/text/json-message.ts';
import { summaryText } from '../status/summary-text.ts';
import { type CommandContext, readCommandFor } from './command-context.ts';

export interface RunOptions {
  readonly config: Config;
  /** Stay when nothing is left. */
  readonly follow: boolean;
}

/** A comparison reads two crawls back: without this flag V8 lets the heap double before it collects what was read. */
const FRUGAL_HEAP = '--heap-growing-percent=50';
/** Longest to look for what is left, for the closing line. */
const COUNT_WITHIN_MS = 1_000;
const NOTHING_YET: RunGauges = { budgets: [], credits: [], activities: [] };

/** Works all requests there are. Resolves to the exit code: 0, 1 when something failed in this run, 130 when it was stopped. */
export async function run({ config, follow }: RunOptions, context: CommandContext): Promise<number> {
  const { clock, env, signal, terminal, json } = context;
  const readCommand = readCommandFor(context);
  const statusClock = systemStatusClock();
  const model = createRunModel({ clock: statusClock });
  let running: Running | undefined;
  const gauges = (): RunGauges => (running === undefined ? NOTHING_YET : displayGauges(running.snapshot()));

  const color = terminal.isTTY === true && !env['NO_COLOR'];
  const header = `headgate run   ${context.file}   -> ${logAddress(config.topics)}`;
  let reporter: Reporter | undefined;
  const unreported: RunEvent[] = [];
  const emit = (event: RunEvent): void => {
    model.apply(event);
    if (reporter === undefined) unreported.push(event);
    else reporter.event(event);
  };
  const { driver, group, lanes } = config.topics;
  // Before anything is waited for: a probe that asks whether a run is alive or ready gets an answer from the first moment on.
  const status = await serveStatus(config, { model, gauges, emit, ready: () => running !== undefined });
  let log: TopicLog | undefined;
  const giveUp = (): void => void log?.close();
  let failures: readonly unknown[] = [];
  let left: CrawlsLeft | undefined;
  try {
    // A right that is missing is given while it waits, as a broker comes back.
    log = await openTopicLog(config.topics, (change) => emit(logEvent(driver, change)), 'wait');
    // What fails before that is said by its error alone.
    reporter = await createReporter({ stderr: terminal, json, color, clock: statusClock, gauges, header, readCommand });
    for (const event of unreported.splice(0)) reporter.event(event);
    signal.addEventListener('abort', giveUp, { once: true });
    signal.throwIfAborted();
    if (followersOptions(config.pipelines)?.emit.includes('changes') === true) setFlagsFromString(FRUGAL_HEAP);
    const { pipelines } = config;
    // Topics of both services are made, whichever the configuration has.
    const { grown, warnings } = await prepareTopics({ log, config });
    if (grown.length > 0) emit({ type: 'notice', level: 'info', message: `partitions added for topics.lanes: ${growthWords(grown)}` });
    for (const message of warnings) emit({ type: 'notice', level: 'warn', message });
    const onEvent = (event: EngineEvent): void => {
      // The engine looks at its topics again, and finds the same.
      if (event.type === 'notice' && warnings.includes(event.message)) return;
      for (const shown of displayEvents(event)) emit(shown);
    };
    running = await start({ log, pipelines, group, lanes, follow, signal, topics: config.topics, clock, env, onEvent });
    signal.removeEventListener('abort', giveUp);
    failures = (await running.done).failures.map((failure) => withStateAdvice(failure, config.topics));
    if (signal.aborted || failures.length > 0) left = await crawlsLeft({ log, topics: config.topics, clock, withinMs: COUNT_WITHIN_MS });
  } catch (error) {
    // A start that a signal has ended is a stop like any other.
    if (!signal.aborted) throw withStateAdvice(error, config.topics);
  } finally {
    await closeAll([() => reporter?.close(), () => status?.close(), () => log?.close()], signal);
  }
  return conclude({ config, model, failures, crawlsLeft: left, readCommand, context });
}

function logEvent(driver: LogDriver, change: AvailabilityChange): RunEvent {
  if (change.available) return { type: 'log-available', driver };
  const { reason, sinceMs: since, refused } = change;
  return { type: 'log-unavailable', driver, reason, since, ...(refused && { refused }) };
}

async function serveStatus(
  config: Config,
  { emit, ...shown }: { model: RunModel; gauges: () => RunGauges; ready: () => boolean; emit: (event: RunEvent) => void },
): Promise<{ close(): Promise<void> } | undefined> {
  if (config.status === false) return undefined;
  const { port, host, names } = config.status;
  try {
    const server = await startStatusServer({ port, host, names, ...shown });
    const moved = port !== 0 && server.port !== port ? ` (port ${port} is busy)` : '';
    emit({ type: 'notice', level: 'info', message: `status at ${server.url}${moved}` });
    return server;
  } catch (error) {
    // Nobody's work should wait for a page that nobody may look at.
    emit({ type: 'notice', level: 'warn', message: `no status page: ${errorText(error)}` });
    return undefined;
  }
}

interface ConcludeOptions {
  readonly config: Config;
  readonly model: RunModel;
  readonly failures: readonly unknown[];
  readonly crawlsLeft: CrawlsLeft | undefined;
  readonly readCommand: (topic: string) => string;
  readonly context: CommandContext;
}

function conclude({ config, model, failures, crawlsLeft: left, readCommand, context }: ConcludeOptions): number {
  const { stderr, signal, json } = context;
  const snapshot = model.snapshot();
  // Several lanes may have met the same.
  for (const msg of new Set(failures.map(errorText)))
    stderr.write(json ? jsonMessage({ level: 'error', message: msg }) : `headgate: ${msg}\n`);
  const emitted = followersOptions(config.pipelines)?.emit ?? [];
  const names = topicNames(config.topics);
  const followersTopics = (['pages', 'ids'] as const).filter((kind) => emitted.includes(kind)).map((kind) => names(`followers.${kind}`));
  const somethingWasDone = failures.length === 0 || snapshot.totals.pages + snapshot.books.found + snapshot.books.authorBooks > 0;
  if (!json && somethingWasDone) {
    const interrupted = signal.aborted || failures.length > 0;
    const goesOn = !failures.some(needsRepair);
    stderr.write(`${summaryText({ snapshot, followersTopics, readCommand, interrupted, goesOn, crawlsLeft: left })}\n`);
  }
  if (signal.aborted) return 130;
  return failures.length > 0 || snapshot.deadLetters.total > 0 ? 1 : 0;
}

/** Closes each, whatever became of those before it. Throws the first failure. */
async function closeAll(closers: readonly (() => unknown)[], signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  // What was committed is safe; what can't be closed after a signal must not hold the exit up.
  if (failures.length > 0 && !signal.aborted) throw failures[0];
}
