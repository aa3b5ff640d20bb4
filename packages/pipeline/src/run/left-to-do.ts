import { pipelineChecks } from '../settings/pipeline-error.ts';
import { type Clock, creditPool, systemClock } from '@headgate/throttle';
import { unwrittenJournal } from '@headgate/throttle/internal';
import { type ReadOptions, type TopicLog, type TopicRecord, partitionForKey } from '@headgate/topics';
import type { KeyedJob } from '../definition/pipeline-jobs.ts';
import type { LaneShare, Pipeline } from '../definition/pipeline.ts';
import { type JournalRecord, type RecordsByCredential, byCredential, journalRecords, restored } from '../lane/lane-journal.ts';
import { laneState } from '../lane/lane-state.ts';
import { GROUP_STATE, lanesOf, requestsTopic, stateTopic, topicNames } from '../topics/names.ts';
import { listedAndDue } from './job-list.ts';
import { unfinishedJobs } from '../jobs/jobs-in-order.ts';
import type { TopicMap, TopicNames } from '../topics/topic.ts';
import type { Processor } from '../definition/processor.ts';
import type { LaneWork, WalkSize } from '../progress/forecast.ts';
import { type SizedRecord, jobSizes } from '../progress/job-sizes.ts';

/** A read-only log; missing topics and partitions read as empty. */
export interface LogView extends Pick<TopicLog, 'readState'> {
  /** Like `TopicLog.readBytes`, but a missing topic is empty. */
  readBytes(options: ReadOptions): AsyncIterable<TopicRecord<Uint8Array>>;
}

/** Options of {@link leftToDo}. */
export interface LeftToDoOptions {
  /** The log to read. `leftToDo` takes no lane and writes nothing. */
  readonly log: LogView;
  /** Pipelines with the options of the runs. */
  readonly pipelines: readonly Pipeline[];
  /** Group of the runs. Default `headgate`. */
  readonly group?: string;
  /** Number of lanes of the runs. Default 1. */
  readonly lanes?: number;
  /** Returns the log's name of a topic. Default: `topicNames()`, which changes no name. */
  readonly names?: TopicNames;
  /** Clock by which lists become due. Default: the machine's clock. */
  readonly clock?: Clock;
  /** Environment variables, for the sources. Default: `process.env`. */
  readonly env?: Readonly<Record<string, string | undefined>>;
}

/** The work that a run of a pipeline would find. */
export interface PipelineLeft {
  /** Name of the pipeline. */
  readonly pipeline: string;
  /** An element for each lane of the pipeline, including lanes without work. */
  readonly lanes: readonly LaneLeft[];
  /** Number of complete walks whose `after` work isn't finished. This work needs no HTTP request. */
  readonly after: number;
  /** The state of the budgets in the journals of all lanes. */
  readonly journals: readonly JournalRecord[];
}

/** The work of one lane, with its budgets: an element of the input of `forecast`. */
export interface LaneLeft extends LaneWork {
  /** Unfinished walks, and those of the configuration's list that are due. */
  readonly walks: readonly WalkLeft[];
}

/** An unfinished walk, and where it continues. */
export interface WalkLeft extends WalkSize {
  /** Key of the walk's request. */
  readonly key: string;
  /** The request, as JSON. */
  readonly request: string;
  /** Whether the walk is for all pages. */
  readonly whole: boolean;
}

/** Reads the unfinished work of pipelines. Takes no lane, so it also works during a run. */
export async function leftToDo(given: LeftToDoOptions): Promise<readonly PipelineLeft[]> {
  const options = { group: 'headgate', lanes: 1, names: topicNames(), clock: systemClock(), env: process.env, ...given };
  pipelineChecks('leftToDo', 'HEADGATE_INVALID_OPTION').whole({ lanes: options.lanes }, 1);
  const state = await options.log.readState(options.names(GROUP_STATE), 0);
  return await Promise.all(
    options.pipelines.map(async (pipeline) => await leftOf(options, pipeline, listedAndDue({ ...options, pipelines: [pipeline], state }))),
  );
}

async function leftOf(
  { log, group, lanes: configured, names, clock, env }: Required<LeftToDoOptions>,
  pipeline: Pipeline,
  listed: readonly KeyedJob[],
): Promise<PipelineLeft> {
  const count = lanesOf(pipeline, configured);
  const numbers = Array.from({ length: count }, (_, lane) => lane);
  const states = await Promise.all(numbers.map(async (lane) => laneState(group, await log.readState(stateTopic(pipeline, names), lane))));
  // Every lane needs all journals, because a credential can have come from another lane.
  const journals = states.flatMap((state) => journalRecords(state.under));
  const budgets = byCredential(journals);
  const listedBy = Map.groupBy(listed, ({ key }) => (count === 1 ? 0 : partitionForKey(key, count)));
  const topic = requestsTopic(pipeline, names);
  const lanes: LaneLeft[] = [];
  let after = 0;
  for (const [lane, state] of states.entries()) {
    const processor = openReadOnly(pipeline, { lane, lanes: count }, budgets, clock, env);
    try {
      for (const source of processor.sources) source.stop();
      const sizeOf = jobSizes(pipeline, processor, state.get);
      const walks: WalkLeft[] = [];
      let [keys, keysPerRequest] = [0, 1];
      const add = (record: SizedRecord): void => {
        const size = sizeOf(record);
        const { value: request } = record;
        if (size === undefined) return;
        if (size.kind === 'after') after += 1;
        else if (size.kind === 'lookup') [keys, keysPerRequest] = [keys + size.keys, size.size];
        else
          walks.push({
            key: size.key,
            request: request ?? 'null',
            page: size.page,
            whole: size.whole,
            ...(size.pages !== undefined && { pages: size.pages }),
          });
      };
      for await (const record of unfinishedJobs(log, topic, lane, state)) add(record);
      for (const { value } of listedBy.get(lane) ?? []) add({ offset: -1, value });
      const slots = processor.sources.flatMap((source) => source.slots());
      lanes.push({ pipeline: pipeline.name, lane, walks, keys, keysPerRequest, budgets: slots });
    } finally {
      await Promise.allSettled(processor.sources.map(async (source) => await source.close()));
    }
  }
  return { pipeline: pipeline.name, lanes, after, journals };
}

/** Opens a pipeline's processor without taking a lane. The budgets of its sources start from the journals, and aren't written. */
function openReadOnly(
  pipeline: Pipeline,
  share: LaneShare,
  budgets: RecordsByCredential,
  clock: Clock,
  env: Required<LeftToDoOptions>['env'],
): Processor<unknown, TopicMap> {
  const journal = unwrittenJournal((credential) => restored(budgets, credential, clock.boot?.()));
  const credits = creditPool({ max: pipeline.maxOutstanding });
  const { signal } = new AbortController();
  return pipeline.open({ clock, env, credits, signal, onAttempt: () => undefined, journal }, share);
}
