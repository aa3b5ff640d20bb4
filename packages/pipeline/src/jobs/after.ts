import { endsLane } from '../topics/source-error.ts';
import { readable } from '../settings/thrown.ts';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { type JobRecord, jobContent } from '../topics/job.ts';
import { type PendingRecord, REQUESTS, type TopicMap, countRecords, logRecords, madeRecord } from '../topics/topic.ts';
import type { Job, WorkContext } from '../definition/processor.ts';
import { assertRecordSize } from '../lane/record-size.ts';
import { pendingDeadLetter } from './pending-dead-letter.ts';
import type { After, Crawl } from './walk-definition.ts';
import { rowOf } from './walk-state.ts';

/** The unfinished work after a walk, as the row of its job in the lane's state has it, or the header of its replay. */
export interface AfterStage {
  readonly crawl: Crawl;
  readonly previous?: Crawl | undefined;
  /** How many of the records that the work yields are written. When the work runs again, that many are skipped. */
  readonly written: number;
}

/** The work after the walks of a lane. One walk's work runs at a time. */
export interface AfterWork {
  /** Returns the ends of the lane's partition in the pipeline's topics. The records of a walk that starts now will be at or after them. */
  offsets(): Promise<Readonly<Record<string, number>>>;
  /**
   * Runs the work of a job, and finishes the job. At a stop, resolves at the latest after the current chunk, and the job's row keeps the
   * rest. Rejects if the lane can't continue. `isResumed`: true if an earlier run has begun the stage.
   */
  run(job: Job, stage: AfterStage, isResumed: boolean): Promise<void>;
}

/** Number of records written, by topic and by kind. */
interface Written {
  /** Number of the work's records that are in the log, those of earlier runs included. A series counts as one. */
  upTo: number;
  readonly counts: Record<string, number>;
  readonly kinds: Record<string, number>;
}

/** Maximum records per transaction. A series counts as one record. */
const CHUNK = 5_000;

/**
 * For a kind of work without `after`: finishes a job whose walk is complete, with a warning. Returns undefined for any other job.
 */
export function dropAfter(context: Pick<WorkContext<never, TopicMap>, 'lane' | 'emit'>, job: Job): Promise<void> | undefined {
  const stage = rowOf(job)?.after;
  return stage && dropWork(context, job, droppedWords(stage));
}

function droppedWords({ crawl: { key, id } }: AfterStage): string {
  return `${key}: the work after its crawl ${id} was dropped, because the pipeline no longer defines it for this kind of job`;
}

async function dropWork({ lane, emit }: Pick<WorkContext<never, TopicMap>, 'lane' | 'emit'>, { record }: Job, message: string) {
  await lane.commit({ records: [], finished: [record.offset] });
  emit({ type: 'notice', level: 'warn', message });
}

/** Returns the change that stores the rest of a job's work in the lane's state. */
export function afterRow({ offset, value }: JobRecord, stage: AfterStage): StateChange {
  return [STATE_KEYS.job + String(offset), { key: stage.crawl.key, items: 0, request: value, after: stage }];
}

export function afterWork<Topics extends TopicMap>(
  { after, afterName = 'the work after its crawl' }: { readonly after?: After<Topics>; readonly afterName?: string },
  context: Omit<WorkContext<unknown, Topics>, 'read' | 'keyOf'>,
): AfterWork {
  const { pipeline, lane, log, names, clock, emit, topics, stopping: signal } = context;
  const { partition } = lane;
  let earlier: Promise<void> = Promise.resolve();

  const workOn = async (job: Job, stage: AfterStage, isResumed: boolean): Promise<void> => {
    if (signal.aborted) return;
    const { crawl, written: before } = stage;
    const { key, id } = crawl;
    if (after === undefined) {
      await dropWork(context, job, droppedWords(stage));
      return;
    }
    if (isResumed) emit({ type: 'notice', level: 'info', message: `${key}: ${afterName} continues` });
    const counts: Record<string, number> = {};
    const kinds: Record<string, number> = {};
    const written: Written = { upTo: before, counts, kinds };
    let isDone = false;
    job.doing = { kind: 'after', key, request: id, name: afterName };
    try {
      await write(after, job.record, stage, written);
      isDone = true;
    } catch (thrown) {
      const error = readable(thrown);
      if (signal.aborted) return;
      if (endsLane(error)) throw error;
      await fail(job, { ...stage, written: written.upTo }, error);
    } finally {
      job.doing = undefined;
      if ((before === 0 && isDone) || Object.keys(counts).length > 0)
        emit({ type: 'after-written', pipeline, key, request: id, counts, kinds });
    }
  };

  /** Writes a dead letter, whose replay does the rest of the work. Drops the work if the records that it needs are gone. */
  const fail = async (job: Job, stage: AfterStage, thrown: unknown): Promise<void> => {
    const { record } = job;
    const { key, id } = stage.crawl;
    const { code, message } = reasonOf(thrown);
    if (code === 'HEADGATE_STATE_LOST') {
      await dropWork(context, job, `${key}: ${afterName} was dropped (${id}): ${message}`);
      return;
    }
    const error = new PipelineError({
      code: 'HEADGATE_USER_FUNCTION',
      message: `${key}: ${afterName} failed (${id}): ${message} Fix it, then replay the job: a replay does only this work.`,
      pipeline,
      key,
      cause: thrown,
    });
    const reason = code === 'HEADGATE_UNEXPECTED' ? error : { code, message: error.message, retryable: true };
    const resume = JSON.stringify({ after: stage });
    const dead = pendingDeadLetter(context, { key, id: `${id}/after`, content: jobContent(record), error: reason, resume });
    await lane.commit({ records: [dead.record], finished: [record.offset] });
    emit(dead.event);
  };

  /** Runs the work and commits its records in chunks. After each commit, adds the chunk's numbers to `written`. */
  const write = async (work: After<Topics>, record: JobRecord, stage: AfterStage, written: Written): Promise<void> => {
    const { crawl, previous } = stage;
    const warn = (message: string): void => emit({ type: 'notice', level: 'warn', message: `${crawl.key}: ${message}` });
    let made = 0;
    let inFlight: PendingRecord[] = [];
    const commit = async (isLast: boolean): Promise<void> => {
      const records = assertRecordSize(logRecords(inFlight, pipeline, crawl.id, String(made)), { pipeline, key: crawl.key, lane });
      const end = isLast ? { finished: [record.offset] } : { state: [afterRow(record, { ...stage, written: made })] };
      await lane.commit({ records, ...end });
      written.upTo = made;
      countRecords(inFlight, written.counts);
      for (const { kind, count } of inFlight) written.kinds[kind] = (written.kinds[kind] ?? 0) + count;
      inFlight = [];
    };
    for await (const one of work(crawl, previous, { log, names, partition, topics, clock, signal, warn })) {
      madeRecord({ pipeline, name: 'after' }, { names, topics }, one);
      made += 1;
      if (made <= stage.written) continue;
      inFlight.push(one);
      if (inFlight.length < CHUNK) continue;
      await commit(false);
      signal.throwIfAborted();
    }
    await commit(true);
  };

  return {
    async offsets() {
      const written = Object.keys(topics).filter((name) => name !== REQUESTS);
      const onLog = new Map(written.map((name) => [names(`${pipeline}.${name}`), name]));
      const infos = await log.listTopics([...onLog.keys()], { withOffsets: false });
      const own = infos.filter(({ partitions }) => partition < partitions);
      const places = own.map(({ name: topic }) => ({ topic, partition }));
      const ends = await log.offsets(places, 'end');
      return Object.fromEntries(infos.map((info) => [onLog.get(info.name), ends[own.indexOf(info)] ?? 0]));
    },
    run(job, stage, isResumed) {
      const work = earlier.then(() => workOn(job, stage, isResumed));
      earlier = work.catch(() => undefined);
      return work;
    },
  };
}
