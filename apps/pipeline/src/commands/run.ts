import { type ListAgain, type RunResult, start, topicNames } from '@headgate/pipeline';
import { nothingChosen } from '@headgate/pipeline/internal';
import { onAbort, untilAborted } from '@headgate/throttle/internal';
import type { TopicLog, TopicRecord } from '@headgate/topics';
import type { Config } from '../config/config.ts';
import { commandsFor } from '../config/commands-for.ts';
import { errorText } from '../run/error-text.ts';
import { failureText } from '../run/failure-text.ts';
import { limitHeapGrowth } from '../run/heap-growth.ts';
import { inFormats, logShown, openRegistry, openTopicLog } from '../run/open-topic-log.ts';
import { withTopicAdvice } from '../run/topics.ts';
import { runAbout } from '../run/run-about.ts';
import { needsRepair, withStateAdvice } from '../run/state-lost.ts';
import { UsageError, noPipeline } from './usage-error.ts';
import { type Reporter, createReporter } from '../status/reporter.ts';
import type { DisplayEvent } from '../status/display-event.ts';
import { type RunView, logEvent, runViewer } from '../status/run-view.ts';
import { type StatusServerOptions, startStatusServer } from '../status/status-server.ts';
import { didNothing, summaryText } from '../status/summary-text.ts';
import { countOpenOf, watchOpenDeadLetters } from '../status/open-dead-letters.ts';
import { jsonMessage } from '../status/text/json-message.ts';
import { totalOf } from '../status/text/number-words.ts';
import { safeText } from '../status/text/safe-text.ts';
import type { CommandContext } from './command-context.ts';

export interface RunOptions {
  readonly config: Config;
  /** Whether to keep running when no work is left. */
  readonly follow: boolean;
  /** Whether open dead letters of earlier runs also make the exit code 1. Default: false. */
  readonly failOnDeadLetters?: boolean;
  /** `PIPELINE` or `PIPELINE:KEY`: run only this pipeline, or only its jobs with this key. */
  readonly only?: string;
  /** `PIPELINE` or `PIPELINE.STREAM`: request its list again, even if it isn't due. */
  readonly again?: string;
  /** With `again`: request the list from its start instead of from its `since`. Default: false. */
  readonly fromStart?: boolean;
  /** Maximum HTTP requests, after which the run stops. Default: no limit. */
  readonly maxRequests?: number;
}

/** Processes the configured jobs. Resolves to the exit code: 130 after a signal, 1 after a failure or a dead letter, otherwise 0. */
export async function run(options: RunOptions, context: CommandContext): Promise<number> {
  const { follow, maxRequests } = options;
  const { config, key, again } = chosen(options);
  const { clock, env, signal, deadline, terminal, json } = context;
  const commandFor = commandsFor(context);
  const viewer = runViewer(clock, signal, runAbout(config, context.file));
  // A terminal that reports 0 columns doesn't know its width.
  const live = terminal.isTTY === true && terminal.columns !== 0 && env['TERM'] !== 'dumb';
  const color = live && !env['NO_COLOR'];
  const header = `headgate run   ${context.file}   -> ${logShown(config.topics, context.cwd)}`;
  let reporter: Reporter | undefined;
  const counted = new AbortController();
  const unreported: DisplayEvent[] = [];
  const emit = (event: DisplayEvent): void => {
    viewer.apply(event);
    if (reporter === undefined) unreported.push(event);
    else reporter.event(event);
  };
  const { driver, group, lanes } = config.topics;
  // Start the status page before opening the log, so that probes get a response while the log can't be reached.
  const status = await serveStatus(config, { view: () => viewer.view(), clock, commandFor, emit });
  let log: TopicLog | undefined;
  let result: RunResult | undefined;
  // Past this deadline, the run doesn't wait for the log to close, and writes its summary.
  const abandoned = untilAborted(deadline?.closed);
  try {
    const registry = await openRegistry(config.topics);
    log = await openTopicLog(config.topics, (change) => emit(logEvent(driver, change)), { deleteOld: true, registry });
    const pipelines = await inFormats(config.pipelines, registry);
    const units = Object.fromEntries(pipelines.map(({ name, unit }) => [name, unit]));
    // The display starts only now. An error before this point is shown without one.
    reporter = await createReporter({ stderr: terminal, live, json, color, clock, view: () => viewer.view(), units, header, commandFor });
    for (const event of unreported.splice(0)) reporter.event(event);
    const forget = onAbort(signal, () => void log?.close());
    signal.throwIfAborted();
    const some = {
      ...(deadline && { deadline }),
      ...(maxRequests !== undefined && { maxRequests }),
      ...(key !== undefined && { keys: [key] }),
      ...(again && { again }),
    };
    const running = await start({
      log,
      pipelines,
      group,
      lanes,
      follow,
      signal,
      topics: config.topics,
      clock,
      env,
      onEvent: emit,
      ...some,
    });
    viewer.attach(running);
    const names = topicNames(config.topics);
    const where = { log, pipelines, group, names };
    const hasWritten = (): boolean => running.snapshot().deadLetters.total > 0;
    watchOpenDeadLetters(where, clock, counted.signal, hasWritten, (open) => viewer.counted(open)).catch(() => undefined);
    limitHeapGrowth('pages');
    forget();
    result = await Promise.race([running.done, abandoned]);
    counted.abort();
    if (result !== undefined && viewer.view().logUnavailable === undefined) {
      const open = await Promise.race([countOpenOf(where).catch(() => undefined), abandoned]);
      if (open !== undefined) viewer.counted(open);
    }
    const [pipeline] = pipelines;
    if (key !== undefined && pipeline && result?.outcome === 'done' && didNothing(viewer.view())) {
      const topic = names(`${pipeline.name}.requests`);
      if (!(await hasKey(log.readBytes({ topic, signal }), key)) && !signal.aborted)
        throw new UsageError(
          `run --only: ${pipeline.name} has no job with the key ${safeText(key)}. To list the jobs: ${commandFor('read', topic)}`,
        );
    }
    viewer.end(result?.outcome ?? 'stopped', result?.snapshot);
  } catch (error) {
    viewer.end(signal.aborted ? 'stopped' : 'failed');
    // An error after a signal is part of the stop.
    if (!signal.aborted) throw withTopicAdvice(withStateAdvice(error, config.topics), config);
  } finally {
    counted.abort();
    const closing = closeAll([() => reporter?.close(), () => status?.close(), () => log?.close()], signal);
    await Promise.race([closing, abandoned]);
  }
  const failures = (result?.failures ?? []).map((failure) => withStateAdvice(failure, config.topics));
  const wasStopped = signal.aborted || result?.outcome === 'stopped';
  return await conclude({ ...options, config }, viewer.view(), wasStopped, failures, context);
}

async function hasKey(records: AsyncIterable<TopicRecord<Uint8Array>>, key: string): Promise<boolean> {
  const wanted = Buffer.from(key);
  for await (const record of records) if (record.key !== null && wanted.equals(record.key)) return true;
  return false;
}

interface Chosen {
  /** The configuration reduced to the chosen pipeline. */
  readonly config: Config;
  /** Key of the chosen jobs. Undefined: all jobs. */
  readonly key?: string;
  readonly again?: ListAgain;
}

/** Throws a `UsageError` if there is no such pipeline, key or stream. */
function chosen({ config, only, again: listed, fromStart = false }: RunOptions): Chosen {
  const [name = '', key] = only?.split(/:(.*)/s, 2) ?? [];
  const pipelines = config.pipelines.filter((one) => only === undefined || one.name === name);
  if (pipelines.length === 0)
    throw noPipeline(
      'run --only',
      name,
      config.pipelines.map((one) => one.name),
      ' Write PIPELINE or PIPELINE:KEY: --only takes no stream.',
    );
  const again = listed === undefined ? undefined : listAgain(listed, fromStart);
  if (again === undefined && fromStart) throw new UsageError('run: --from-start needs --again PIPELINE or --again PIPELINE.STREAM.');
  const none = again && nothingChosen(config.pipelines, { ...again, ...(key !== undefined && { keys: new Set([key]) }) });
  if (none !== undefined) throw new UsageError(`run --again: ${none}`);
  if (again !== undefined && only !== undefined && again.pipeline !== name)
    throw new UsageError(`run: --only ${name} leaves out ${again.pipeline}, which --again names. Name the same pipeline in both.`);
  return { config: { ...config, pipelines }, ...(key !== undefined && { key }), ...(again && { again }) };
}

/** A pipeline's name has no dot, so the first dot separates it from the stream. */
function listAgain(text: string, fromStart: boolean): ListAgain {
  const [pipeline = '', group] = text.split(/\.(.*)/su, 2);
  return { pipeline, ...(group !== undefined && { group }), fromStart };
}

async function serveStatus(
  config: Config,
  { emit, ...shown }: Pick<StatusServerOptions, 'view' | 'clock' | 'commandFor'> & { readonly emit: (event: DisplayEvent) => void },
): Promise<{ close(): Promise<void> } | undefined> {
  if (config.status === false) return undefined;
  const { port, host, names } = config.status;
  try {
    const server = await startStatusServer({ port, host, names, ...shown });
    const isMoved = port !== 0 && server.port !== port;
    // Probes and Prometheus might still use the configured port, so the message names it.
    const moved = isMoved ? ` (port ${port} is in use, perhaps by another run: give each run its own status.port)` : '';
    emit({ type: 'notice', level: isMoved ? 'warn' : 'info', message: `status at ${server.url}${moved}` });
    return server;
  } catch (error) {
    // A run without its status page still does its work, so the error is only a warning.
    emit({ type: 'notice', level: 'warn', message: `no status page: ${errorText(error)}` });
    return undefined;
  }
}

/** Reports how the run ended. `wasStopped`: a signal or `maxRequests` ended it early. Resolves to the exit code. */
async function conclude(
  { config: { topics, pipelines }, failOnDeadLetters = false, only }: RunOptions,
  view: RunView,
  wasStopped: boolean,
  failures: readonly unknown[],
  context: CommandContext,
): Promise<number> {
  const { stderr, signal, json, clock } = context;
  const outcome = failures.length > 0 ? 'failed' : wasStopped ? 'stopped' : 'done';
  const open = view.openDeadLetters ?? {};
  const didFail =
    failures.length > 0 || view.deadLetters.total > 0 || (failOnDeadLetters && Object.values(open).some((counts) => totalOf(counts) > 0));
  const code = signal.aborted ? 130 : didFail ? 1 : 0;
  // Several lanes can fail with the same error.
  const messages = [...new Set(failures.map(failureText))];
  if (json) {
    const [{ progressFields }, { snakeCased }] = await Promise.all([
      import('../status/json-lines.ts'),
      import('../status/text/snake-case.ts'),
    ]);
    for (const message of messages) stderr.write(jsonMessage('error', clock.epochMs(), { event: 'error' }, message));
    const { progress, deadLetters } = view;
    const totals = { ...snakeCased({ pipelines: view.pipelines }), dead_letters: deadLetters.total };
    // The remaining work of a failed lane is unknown.
    const left = progressFields({ ...progress, isExact: progress.isExact && outcome !== 'failed' });
    const ended = { event: 'run-ended', outcome, exit_code: code, totals, open_dead_letters: open, left };
    stderr.write(jsonMessage('info', clock.epochMs(), ended, `the run is over: ${outcome}`));
    return code;
  }
  for (const message of messages) stderr.write(`headgate: ${message}\n`);
  const somethingWasDone = failures.length === 0 || Object.values(view.pipelines).some(({ records }) => Object.keys(records).length > 0);
  if (somethingWasDone) {
    const canContinue = !failures.some(needsRepair);
    const listing = pipelines.filter((pipeline) => pipeline.listed()[Symbol.iterator]().next().done !== true).map(({ name }) => name);
    const shown = { view, names: topicNames(topics), commandFor: commandsFor(context), canContinue, listing };
    stderr.write(`${summaryText({ ...shown, outcome, ...(only !== undefined && { only }) })}\n`);
  }
  return code;
}

/** Calls all closers, even if an earlier one fails. Throws the first error, except after a signal. */
async function closeAll(closers: readonly (() => unknown)[], signal: AbortSignal): Promise<void> {
  const failures: unknown[] = [];
  for (const close of closers) {
    try {
      await close();
    } catch (error) {
      failures.push(error);
    }
  }
  // After a signal, errors of closing are ignored, because committed records are safe.
  if (failures.length > 0 && !signal.aborted) throw failures[0];
}
