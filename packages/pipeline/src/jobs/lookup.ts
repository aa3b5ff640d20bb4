import type { Delivery } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import { endsLane, endsSource, isStop } from '../topics/source-error.ts';
import { readable, textOf } from '../settings/thrown.ts';
import { type Rule, checked, guarded, jobError, list, misuse, mustReturn, text, userError } from '../topics/user-function.ts';
import { pipelineChecks } from '../settings/pipeline-error.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { jobContent } from '../topics/job.ts';
import { type OwnTopics, type TopicMap, countRecords, logRecords, madeRecord } from '../topics/topic.ts';
import type { Job, Processor, SourceControls, Work, WorkContext } from '../definition/processor.ts';
import { assertRecordSize } from '../lane/record-size.ts';
import { type PendingDeadLetter, pendingDeadLetter, jobId } from './pending-dead-letter.ts';
import type { LookupDeadLetter, LookupDefinition, LookupOutcome } from './lookup-definition.ts';
import { dropAfter } from './after.ts';
import { MAX_IN_WORK } from './walk-work.ts';

const MAX_WAIT_MS = 200;

/**
 * Processes each job as the lookup of one key: the keys of several jobs can share one HTTP request, and each key gets its own result. A
 * lookup needs no state: its records finish its job.
 */
export function lookup<Api extends SourceControls, Request, Answers, Topics extends TopicMap>(
  definition: LookupDefinition<Api, Request, Answers, Topics>,
): Processor<Request, Topics> {
  const { size, maxWaitMs = MAX_WAIT_MS } = definition;
  const check = pipelineChecks('lookup', 'HEADGATE_DEFINITION');
  check.whole({ size }, 1);
  check.number({ maxWaitMs }, 0, 2 ** 31 - 1);
  return {
    sources: [definition.source],
    open: (context) => new LookupWork(definition, context),
    size({ pipeline, request }) {
      // An invalid key becomes a dead letter without a request.
      keyOf(guarded(definition, { pipeline }, { key: text }), request, pipeline);
      return { kind: 'lookup', keys: 1, size };
    },
  };
}

/** Returns the normalized key of a job. Throws for an invalid one. */
function keyOf<Api extends SourceControls, Request, Answers, Topics extends TopicMap>(
  definition: LookupDefinition<Api, Request, Answers, Topics>,
  request: Request,
  pipeline: string,
): string {
  const key = definition.key(request);
  return definition.normalize === undefined ? key : checked({ pipeline, name: 'normalize' }, text, definition.normalize(key));
}

const capacityRule = mustReturn('a number', (capacity) => typeof capacity === 'number' && !Number.isNaN(capacity));
/** The rule for `records`. Both parts of the result become lists. */
function outcomeRule(own: OwnTopics): Rule {
  return (result, of) => {
    const outcome = Object(result) as Partial<LookupOutcome>;
    if (outcome.records === undefined) throw misuse(of, `returns ${textOf(result)}`, 'It must return { records, deadLetters }');
    const records = list(outcome.records, of) as LookupOutcome['records'];
    for (const { record } of records) madeRecord(of, own, record);
    return { records, deadLetters: list(outcome.deadLetters, of) };
  };
}

/** A job whose result isn't durable yet. */
interface LookupJob<Request> {
  readonly job: Job;
  readonly request: Request;
  readonly id: string;
  readonly key: string;
  /** Ends the job: its result is durable, or it is left to the next run. With an error, the lane can't continue. */
  readonly end: PromiseWithResolvers<void>;
}

class LookupWork<Api extends SourceControls, Request, Answers, Topics extends TopicMap> implements Work<Request> {
  readonly backlog: number;
  readonly #definition: LookupDefinition<Api, Request, Answers, Topics>;
  readonly #context: WorkContext<Request, Topics>;
  /** The batches that have no response yet. */
  readonly #underWay = new Set<readonly LookupJob<Request>[]>();
  #waiting: LookupJob<Request>[] = [];
  #cancelTimer: (() => void) | undefined;
  /** Number of keys since the last `keys-queued` event. */
  #queued = 0;

  constructor(definition: LookupDefinition<Api, Request, Answers, Topics>, context: WorkContext<Request, Topics>) {
    this.#definition = guarded(definition, context, { key: text, capacity: capacityRule, records: outcomeRule(context) });
    this.#context = context;
    this.backlog = Math.max(MAX_IN_WORK, 2 * definition.size);
    onAbort(context.stopping, () => this.#stop());
  }

  run(job: Job, request: Request): Promise<void> {
    const { record } = job;
    const { pipeline, lane, clock } = this.#context;
    const dropped = dropAfter(this.#context, job);
    if (dropped !== undefined) return dropped;
    const id = jobId(lane, record.offset);
    const key = keyOf(this.#definition, request, pipeline);
    const end = Promise.withResolvers<void>();
    job.doing = { kind: 'key' };
    this.#waiting.push({ job, request, id, key, end });
    this.#queued += 1;
    this.#sendBatches(this.#definition.size);
    this.#cancelTimer?.();
    this.#cancelTimer =
      this.#waiting.length > 0 ? clock.schedule(this.#definition.maxWaitMs ?? MAX_WAIT_MS, () => this.#sendAfterWait()) : undefined;
    return end.promise;
  }

  flush(): void {
    this.#emitQueued();
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
    this.#sendBatches(1);
  }

  /** Leaves the waiting keys to the next run. */
  #stop(): void {
    this.#cancelTimer?.();
    for (const { end } of this.#waiting.splice(0)) end.resolve();
  }

  /**
   * Called after `maxWaitMs` without a further job. Sends the waiting keys, unless a batch is under way: until its response, waiting costs
   * no time, and more keys can fill the next batch.
   */
  #sendAfterWait(): void {
    this.#emitQueued();
    this.#cancelTimer = undefined;
    if (this.#underWay.size === 0) this.#sendBatches(1);
  }

  /** Emits one event for all keys queued since the last event, because a list can have thousands. */
  #emitQueued(): void {
    const { pipeline, emit } = this.#context;
    if (this.#queued > 0) emit({ type: 'keys-queued', pipeline, count: this.#queued });
    this.#queued = 0;
  }

  /**
   * Sends batches while at least `least` keys are waiting and the quota has capacity, and cuts the last batch to that capacity. If the
   * quota has none and no other batch is under way, sends one batch, which waits for the quota's reset.
   */
  #sendBatches(least: number): void {
    const { size } = this.#definition;
    let capacity = this.#waiting.length >= least ? this.#capacity() : 0;
    while (this.#waiting.length >= least && (capacity > 0 || this.#underWay.size === 0)) {
      const batch = this.#waiting.splice(0, Math.min(size, capacity || size));
      capacity = Math.max(0, capacity - batch.length);
      this.#endWith(batch, this.#traced(batch));
    }
  }

  #capacity(): number {
    const { source } = this.#definition;
    try {
      // The capacity of an overdrawn quota can be negative.
      return Math.max(0, Math.floor(this.#definition.capacity?.(source) ?? Infinity));
    } catch (error) {
      const jobs = this.#waiting;
      this.#waiting = [];
      if (jobs.length > 0) this.#endWith(jobs, this.#writeFailed(jobs, error));
      return 0;
    }
  }

  /** Ends jobs as `work` ends. */
  #endWith(jobs: readonly LookupJob<Request>[], work: Promise<void>): void {
    work.then(
      () => {
        for (const { end } of jobs) end.resolve();
      },
      (error: unknown) => {
        for (const { end } of jobs) end.reject(error);
      },
    );
  }

  async #traced(batch: readonly LookupJob<Request>[]): Promise<void> {
    const { pipeline, lane, tracing } = this.#context;
    tracing?.begin(batch, { pipeline, lane: lane.partition, keys: batch.length });
    try {
      await this.#lookUp(batch);
    } finally {
      tracing?.end(batch);
    }
  }

  async #lookUp(batch: readonly LookupJob<Request>[]): Promise<void> {
    const definition = this.#definition;
    const { pipeline, credits, stopping, abandoned: signal } = this.#context;
    this.#emitQueued();
    this.#underWay.add(batch);
    let delivery: Delivery<Answers>;
    const of = { pipeline, name: 'query' };
    try {
      delivery = await definition.query(
        definition.source,
        batch.map(({ key }) => key),
        { credits, signal, walk: batch },
      );
      if (typeof delivery?.credit?.release !== 'function')
        throw misuse(of, `returns ${textOf(delivery)}`, "It must return what the source's query returns");
    } catch (thrown) {
      const error = readable(thrown);
      if (isStop(error) || endsSource(error) || signal.aborted) throw error;
      // A stopped source can reject with any error. The jobs stay unfinished, so the next run requests them again.
      if (stopping.aborted) return;
      this.#batchAnswered(batch);
      await this.#writeFailed(batch, reasonOf(error).code === 'HEADGATE_UNEXPECTED' ? userError(of, error) : error);
      return;
    }
    this.#batchAnswered(batch);
    try {
      await this.#deliver(batch, delivery.value);
    } finally {
      delivery.credit.release();
    }
  }

  /** Called when a batch has its response or its error. The quota can now have capacity for the waiting keys. */
  #batchAnswered(batch: readonly LookupJob<Request>[]): void {
    this.#underWay.delete(batch);
    if (this.#cancelTimer === undefined) this.#sendBatches(this.#underWay.size === 0 ? 1 : this.#definition.size);
  }

  async #deliver(batch: readonly LookupJob<Request>[], answers: Answers): Promise<void> {
    const { pipeline, lane, emit, tracing } = this.#context;
    let outcome: LookupOutcome;
    try {
      outcome = this.#outcomeOf(batch, answers);
    } catch (error) {
      await this.#writeFailed(batch, error);
      return;
    }
    const pendingByKey = Map.groupBy(outcome.records, ({ index }) => index);
    const deadByKey = Map.groupBy(outcome.deadLetters ?? [], ({ index }) => index);
    const failed: PendingDeadLetter[] = [];
    const records: (NewRecord | RecordSeries)[] = [];
    const counts: Record<string, number> = {};
    for (const [index, job] of batch.entries()) {
      const { id, key } = job;
      const pending = (pendingByKey.get(index) ?? []).map(({ record }) => record);
      let failure: PendingDeadLetter | undefined;
      try {
        const own = logRecords(pending, pipeline, id, key, job.job.record, tracing?.headers(batch));
        for (const one of assertRecordSize(own, { pipeline, key, lane })) records.push(one);
        countRecords(pending, counts);
      } catch (error) {
        if (endsLane(error)) throw error;
        failure = this.#deadLetterOf(job, error);
      }
      // Write the dead letter of a part even if its key failed. The part can belong to another key, so a replay of this key might not
      // return it.
      for (const { error, part } of deadByKey.get(index) ?? [])
        if (part !== undefined || failure === undefined) failed.push(this.#deadLetterOf(job, error, part));
      if (failure !== undefined) failed.push(failure);
    }
    await this.#write(batch, records, failed, () => emit({ type: 'records-written', pipeline, kind: 'keys', counts }));
  }

  /** Returns the outcome of a batch. Throws if it has an index that no requested key has. */
  #outcomeOf(batch: readonly LookupJob<Request>[], answers: Answers): LookupOutcome {
    const { pipeline, topics } = this.#context;
    const requested = batch.map(({ key, request, id }) => ({ key, request, id }));
    const outcome = this.#definition.records(answers, { requested, topics });
    const wrong = [...outcome.records, ...(outcome.deadLetters ?? [])].find(({ index }) => batch[index] === undefined);
    if (wrong === undefined) return outcome;
    const what = `returned an answer for key ${textOf(wrong.index)} of ${batch.length}`;
    throw misuse({ pipeline, name: 'records' }, what, 'It must return only keys that were requested');
  }

  #deadLetterOf({ id, key, job }: LookupJob<Request>, error: unknown, part?: LookupDeadLetter['part']): PendingDeadLetter {
    const content = part === undefined ? jobContent(job.record) : { record: part.record };
    return pendingDeadLetter(this.#context, {
      key: part === undefined ? key : id,
      id: `${id}/${part?.id ?? key}`,
      content,
      error: jobError(error, key),
    });
  }

  async #writeFailed(jobs: readonly LookupJob<Request>[], error: unknown): Promise<void> {
    await this.#write(
      jobs,
      [],
      jobs.map((job) => this.#deadLetterOf(job, error)),
    );
  }

  async #write(
    jobs: readonly LookupJob<Request>[],
    records: readonly (NewRecord | RecordSeries)[],
    deadLetters: readonly PendingDeadLetter[],
    emitMore: () => void = () => undefined,
  ): Promise<void> {
    const { pipeline, lane, emit } = this.#context;
    await lane.commit({
      records: [...records, ...deadLetters.map(({ record }) => record)],
      finished: jobs.map(({ job }) => job.record.offset),
      work: jobs,
    });
    for (const { job } of jobs) job.doing = undefined;
    emit({ type: 'keys-answered', pipeline, count: jobs.length });
    emitMore();
    for (const { event } of deadLetters) emit(event);
  }
}
