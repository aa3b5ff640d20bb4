import { type RequestAllowance, requestAllowance } from '@headgate/sources';
import { type Clock, systemClock } from '@headgate/throttle';
import { onAbort, orAborted, untilAborted } from '@headgate/throttle/internal';
import type { TopicLog } from '@headgate/topics';
import type { Observable } from 'rxjs';
import type { Pipeline } from '../definition/pipeline.ts';
import { digest } from '../topics/digest.ts';
import type { RunEvent, RunGauges } from '../events/events.ts';
import { JobNews } from './job-news.ts';
import { LaneSupervisor } from './lane-supervisor.ts';
import { type LaneRun, openPipelineLane } from './pipeline-lane.ts';
import { journalReader } from '../lane/lane-journal.ts';
import { readOnce } from '../lane/read-once.ts';
import { topicId } from '../lane/state-check.ts';
import { type TopicNaming, lanesOf, requestsTopic, topicNames } from '../topics/names.ts';
import { PipelineError, pipelineChecks } from '../settings/pipeline-error.ts';
import { listSchedule } from './list-schedule.ts';
import { type ListAgain, nothingChosen } from './list-again.ts';
import { type AgainOptions, enqueueLists } from './job-list.ts';
import { RunEvents } from './run-events.ts';
import type { RunSnapshot } from '../progress/run-snapshot.ts';
import { openSerializers } from '../topics/topic.ts';
import { growthWords, topicSpecs } from '../topics/topics.ts';
import { openTracing } from '../events/tracing.ts';
import { type StopDeadline, stopDeadline } from './stop-deadline.ts';
import { jobId } from '../jobs/pending-dead-letter.ts';

/** Options of {@link start}. */
export interface StartOptions {
  /** The log to run on. `start` doesn't close it; close it after `done`. */
  readonly log: TopicLog;
  /** Pipelines with distinct names. */
  readonly pipelines: readonly Pipeline[];
  /** Processes with the same group share the work. Default `headgate`. */
  readonly group?: string;
  /**
   * Number of lanes of a pipeline: the partitions of its requests topic, among which its credentials are divided. A pipeline whose
   * definition has no `credentials` has one lane. Default 1.
   */
  readonly lanes?: number;
  /** Wait for new jobs when all are finished. Default: false, the run ends. */
  readonly follow?: boolean;
  /**
   * Stops the run after this many HTTP requests, including retries and redirects. Their responses are still written. A source counts its
   * requests if its options include the `io` of `open`. Default: no maximum.
   */
  readonly maxRequests?: number;
  /** Process only jobs with these keys; the others stay in the requests topics. Default: all jobs. */
  readonly keys?: readonly string[];
  /** Enqueues a list, or a part of it, even if it isn't due. A request whose job is unfinished isn't enqueued again. Default: no list. */
  readonly again?: ListAgain;
  /** Ends the run like `stop`. Before the run has its lanes, `start` rejects with the signal's reason. */
  readonly signal?: AbortSignal;
  /** Time limits of a stop. Default: 8 s until responses are written, and 9.5 s until everything is closed. */
  readonly deadline?: StopDeadline;
  /** Prefix of the topics on the log, and other names for some of them. Default: their own names. */
  readonly topics?: TopicNaming;
  /** Checks each record against the schemas of its topic. If a record doesn't fit, its request becomes a dead letter. Default: false. */
  readonly validate?: boolean;
  /** The run's clock. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Environment variables of the run. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /**
   * Called with every event, including those before `start` resolves. If it throws, the run continues, and the first error becomes a
   * notice. Default: an outage becomes a process warning, unless something has subscribed to `Running.events`.
   */
  readonly onEvent?: (event: RunEvent) => void;
}

/** A started run. Disposing it stops the run and waits for its end. */
export interface Running extends AsyncDisposable {
  /**
   * The run's events. The first subscriber also gets the events before its subscription, at most the first 10,000. Completes when the run
   * has ended.
   */
  readonly events: Observable<RunEvent>;
  /** Returns the current state of the run. After the run's end, use `RunResult.snapshot`, because the lanes are released by then. */
  snapshot(): RunSnapshot;
  /**
   * Adds requests to a pipeline's requests topic, all or none. Resolves to the requests' IDs, in order. If the caller has an active
   * OpenTelemetry span, each request gets its `traceparent` header. Rejects with a `PipelineError` for an invalid request, whose index is
   * in the message, or if the argument isn't a list.
   */
  enqueue<Request>(pipeline: Pipeline<Request>, requests: Iterable<NoInfer<Request>>): Promise<readonly string[]>;
  /** Adds requests to the pipeline with this name, in the same way. */
  enqueue(pipeline: string, requests: Iterable<unknown>): Promise<readonly string[]>;
  /**
   * Ends the run: sends no further request, writes the responses in flight and releases every lane, within the time limits of `deadline`.
   */
  stop(): Promise<RunResult>;
  /** Resolves when the run has ended. A failed lane doesn't reject it: see `RunResult.failures`. */
  readonly done: Promise<RunResult>;
}

/** The result of a run. */
export interface RunResult {
  /** `failed`: a lane or the group couldn't continue, or the log lost requests. Dead letters don't fail a run; `snapshot` counts them. */
  readonly outcome: 'done' | 'stopped' | 'failed';
  /** The errors of lanes and of the group. Empty unless the run has failed. */
  readonly failures: readonly unknown[];
  /** The state of the run at its end. */
  readonly snapshot: RunSnapshot;
}

/**
 * Runs pipelines on a log: creates missing topics, joins the group, takes the lanes that the group assigns, and enqueues the lists. If that
 * fails, releases everything and rejects, for example with a `PipelineError`, an error of the log, or the reason of `signal`. Two runs can
 * share a process.
 */
export async function start(options: StartOptions): Promise<Running> {
  const { log, pipelines, group = 'headgate', lanes = 1, follow = false, validate = false } = options;
  const { maxRequests, clock = systemClock(), env = process.env } = options;
  const names = topicNames(options.topics);
  check(pipelines, lanes, maxRequests);
  const keys = options.keys && new Set(options.keys);
  const again = options.again && { ...options.again, keys };
  const noneChosen = again && nothingChosen(pipelines, again);
  if (noneChosen !== undefined) throw new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message: `start: again: ${noneChosen}` });
  const events = new RunEvents(clock, pipelines, options.onEvent);
  const stopping = new AbortController();
  const signal = options.signal === undefined ? stopping.signal : AbortSignal.any([options.signal, stopping.signal]);
  signal.throwIfAborted();
  const tracing = await openTracing(clock);
  const serializers = await orAborted(signal, openSerializers(pipelines, names, signal));
  const { grown, warnings } = await orAborted(signal, log.createTopics(topicSpecs(pipelines, { lanes, names })));
  if (grown.length > 0) events.notice('info', `partitions added for more lanes: ${growthWords(grown)}`);
  for (const message of warnings) events.notice('warn', message);
  const ownDeadline = stopDeadline({ clock, signal });
  const ids = readOnce(clock, (topic: string) => topicId(log, topic));
  const run: LaneRun = {
    log,
    group,
    lanes,
    names,
    follow,
    validate,
    serializers,
    clock,
    env,
    emit: events.emit,
    onCommit: (pipeline, ms) => events.model.committed(pipeline, ms),
    tracing,
    journals: journalReader(log, group, clock),
    news: new JobNews(log, clock),
    idOf: async (topic) => (await ids(topic)).value,
    allowance: allowanceOf(maxRequests, events, stopping),
    keys,
    deadline: options.deadline ?? ownDeadline,
  };
  const supervisor = supervisorOf(run, pipelines, signal);
  const leave = await joined(run, pipelines, events, supervisor, again && { ...again, lanes }, signal, ownDeadline);
  return new StartedRun(run, pipelines, events, supervisor, stopping, signal, leave);
}

function allowanceOf(max: number | undefined, events: RunEvents, stopping: AbortController): RequestAllowance | undefined {
  if (max === undefined) return undefined;
  return requestAllowance({
    max,
    onUsedUp() {
      events.notice('info', `the run stops: it sent its maximum of ${max} HTTP requests`);
      stopping.abort();
    },
  });
}

function supervisorOf(run: LaneRun, pipelines: readonly Pipeline[], signal: AbortSignal): LaneSupervisor {
  const byTopic = new Map(pipelines.map((pipeline) => [requestsTopic(pipeline, run.names), pipeline]));
  return new LaneSupervisor({
    open(lane, leave) {
      const pipeline = pipelines.find(({ name }) => name === lane.pipeline);
      if (pipeline === undefined) throw new TypeError(`This run has no pipeline ${lane.pipeline}.`);
      return openPipelineLane(run, pipeline, lane.lane, leave);
    },
    laneOf: ({ topic, partition }) => ({ pipeline: byTopic.get(topic)?.name ?? topic, lane: partition }),
    lanes: pipelines.reduce((sum, pipeline) => sum + lanesOf(pipeline, run.lanes), 0),
    follow: run.follow,
    signal,
    closed: run.deadline.closed,
    clock: run.clock,
    emit: run.emit,
  });
}

/**
 * Joins the group, opens the lanes that it assigns, and enqueues the lists. Returns a function that ends the schedule of the lists and
 * leaves the group. If one of these steps fails, leaves and rejects.
 */
async function joined(
  run: LaneRun,
  pipelines: readonly Pipeline[],
  events: RunEvents,
  supervisor: LaneSupervisor,
  again: (ListAgain & Pick<AgainOptions, 'keys' | 'lanes'>) | undefined,
  signal: AbortSignal,
  ownDeadline: Disposable,
): Promise<() => Promise<void>> {
  const { log, group, names, clock } = run;
  const onNoneNoted = (topic: string): void => {
    if (supervisor.hadJobs) events.notice('warn', noneNotedWords(topic));
  };
  const list = { log, group, pipelines, names, clock, signal, onNoneNoted };
  const onUnfinished: AgainOptions['onUnfinished'] = ({ name }, { size }) => events.notice('warn', unfinishedWords(name, size));
  const joining = log.joinGroup({
    group,
    topics: pipelines.map((pipeline) => requestsTopic(pipeline, names)),
    agreement: fingerprint(pipelines, run.lanes),
    onAssigned: (partitions) => supervisor.assign(partitions),
    onUncertain: () => supervisor.doubt(),
    onFailed: (error) => supervisor.fail(error),
  });
  let enqueuing: ReturnType<typeof enqueueLists> | undefined;
  let endSchedule = (): void => undefined;
  const left = async (): Promise<void> => {
    await Promise.allSettled([supervisor.close(), enqueuing]);
    await (await joining).leave();
  };
  const leave = async (): Promise<void> => {
    endSchedule();
    await untilAborted(run.deadline.closed, left());
    ownDeadline[Symbol.dispose]();
  };
  let isMember = false;
  try {
    await orAborted(signal, joining);
    isMember = true;
    const opened = supervisor.opened();
    // Only a process that the group has accepted may enqueue the lists.
    enqueuing = enqueueLists({ ...list, ready: opened, ...(again && { again: { ...again, onUnfinished } }) });
    enqueuing.catch(() => undefined);
    await orAborted(signal, opened);
    const nothingDue = await orAborted(signal, enqueuing);
    if (run.follow) {
      endSchedule = listSchedule(
        nothingDue,
        () => enqueueLists(list),
        clock,
        (error, retryInMs) => {
          const retry = `next attempt in ${Math.round(retryInMs / 1_000)} s`;
          events.notice('warn', `enqueuing the lists again failed; ${retry}: ${(error as Error).message}`);
        },
      );
    }
    return leave;
  } catch (error) {
    // If the group hasn't answered yet, `leave` continues in the background, so that a stop doesn't wait for it.
    const leaving = leave();
    if (isMember || !signal.aborted) await leaving;
    ownDeadline[Symbol.dispose]();
    throw error;
  }
}

function noneNotedWords(topic: string): string {
  return (
    `Topic "${topic}" has no entry of these lists, although lanes have worked before: all entries of the lists run. If the topic was recreated ` +
    'by mistake, stop all runs and restore it.'
  );
}

function unfinishedWords(name: string, count: number): string {
  const [jobs, their, them] =
    count === 1 ? ["1 job of its list isn't", 'its', 'it'] : [`${count} jobs of its list aren't`, 'their', 'them'];
  return `${name}: ${jobs} finished, or ${their} children aren't. This run continues ${them} and doesn't add ${them} again. To list ${them} again, repeat the command afterward.`;
}

class StartedRun implements Running {
  readonly events: Observable<RunEvent>;
  readonly done: Promise<RunResult>;
  readonly #run: LaneRun;
  readonly #pipelines: readonly Pipeline[];
  readonly #events: RunEvents;
  readonly #supervisor: LaneSupervisor;
  readonly #stopping: AbortController;
  /** Aborts when the run stops. */
  readonly #signal: AbortSignal;
  readonly #leave: () => Promise<void>;
  #last: RunGauges = { budgets: [], credits: [], work: [], lanes: [], outages: [] };

  // The methods are members of each run, so that a run can be spread.
  readonly snapshot = (): RunSnapshot => {
    this.#last = this.#supervisor.gauges();
    return this.#events.model.snapshot(this.#last, () => this.#supervisor.left());
  };

  readonly enqueue = async (given: string | Pipeline, requests: Iterable<unknown>): Promise<readonly string[]> => {
    const { log, names, tracing } = this.#run;
    const name = typeof given === 'string' ? given : given.name;
    const pipeline = this.#pipelines.find((candidate) => candidate.name === name);
    if (pipeline === undefined) {
      const message = `enqueue: there is no pipeline ${name}. There are ${this.#pipelines.map((one) => one.name).join(', ')}.`;
      throw new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message });
    }
    const topic = requestsTopic(pipeline, names);
    const headers = tracing?.callerHeaders();
    const records = listOf(name, requests).map((request, i) => ({ topic, ...keyedAt(pipeline, request, i), ...(headers && { headers }) }));
    const positions = await log.append(records);
    return positions.map(({ partition, offset }) => jobId({ topic, partition }, offset));
  };

  readonly stop = async (): Promise<RunResult> => {
    this.#stopping.abort();
    return await this.done;
  };

  readonly [Symbol.asyncDispose] = async (): Promise<void> => {
    await this.stop();
  };

  constructor(
    run: LaneRun,
    pipelines: readonly Pipeline[],
    events: RunEvents,
    supervisor: LaneSupervisor,
    stopping: AbortController,
    signal: AbortSignal,
    leave: () => Promise<void>,
  ) {
    this.#run = run;
    this.#pipelines = pipelines;
    this.#events = events;
    this.#supervisor = supervisor;
    this.#stopping = stopping;
    this.#signal = signal;
    this.#leave = leave;
    this.events = events.all;
    this.done = this.#work();
  }

  async #work(): Promise<RunResult> {
    const { model } = this.#events;
    // Keep the state at a stop, because the lanes are released after it.
    const forget = onAbort(this.#signal, () => {
      this.#last = this.#supervisor.gauges();
      model.forecast(this.#supervisor.left());
    });
    let failures: readonly unknown[];
    try {
      failures = await this.#supervisor.run();
    } finally {
      forget();
      await this.#leave();
    }
    this.#events.complete();
    const left = this.#supervisor.left();
    if (!this.#signal.aborted && (failures.length === 0 || left.length > 0)) model.forecast(left);
    const outcome = failures.length > 0 ? 'failed' : this.#signal.aborted ? 'stopped' : 'done';
    const lanes = this.#events.endedLanes(this.#last.lanes);
    return { outcome, failures, snapshot: model.snapshot({ ...this.#last, work: [], outages: [], lanes }) };
  }
}

function listOf(pipeline: string, requests: unknown): readonly unknown[] {
  if (typeof requests === 'object' && requests !== null && Symbol.iterator in requests) return [...(requests as Iterable<unknown>)];
  const message = `enqueue: the requests of ${pipeline} must be a list, such as [request].`;
  throw new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message, pipeline });
}

function keyedAt(pipeline: Pipeline, request: unknown, index: number) {
  try {
    return pipeline.requests.keyed(request);
  } catch (cause) {
    const message = `enqueue: request ${index} of ${pipeline.name}: ${(cause as Error).message} Nothing was added.`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: pipeline.name, cause });
  }
}

function check(pipelines: readonly Pipeline[], lanes: number, maxRequests = 1): void {
  const refuse = (message: string, pipeline?: string): never => {
    throw new PipelineError({ code: 'HEADGATE_INVALID_OPTION', message: `start: ${message}`, pipeline });
  };
  if (pipelines.length === 0) refuse('there is no pipeline to run. Pass at least one.');
  pipelineChecks('start', 'HEADGATE_INVALID_OPTION').whole({ lanes, maxRequests }, 1);
  const seen = new Set<string>();
  for (const { name, credentials } of pipelines) {
    if (seen.has(name)) refuse(`two pipelines are named ${name}. Rename one.`, name);
    seen.add(name);
    if (credentials !== undefined && credentials.length < lanes) {
      refuse(
        `${name} has ${credentials.length} credentials, but each of ${lanes} lanes needs one. Add credentials, or use fewer lanes.`,
        name,
      );
    }
  }
}

/** A digest of everything that the processes of a group must agree on: the number of lanes, and the `agreed` of each pipeline. */
function fingerprint(pipelines: readonly Pipeline[], lanes: number): string {
  const topicsOf = ({ topics }: Pipeline): unknown =>
    Object.entries(topics).map(([name, { format = 'json', partitions, compacted = false }]) => ({ name, format, partitions, compacted }));
  return digest(JSON.stringify({ lanes, pipelines: pipelines.map((one) => [one.name, one.agreed, topicsOf(one)]) }), 16);
}
