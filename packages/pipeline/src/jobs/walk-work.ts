import { walkPages } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';
import { type Subscription, defer, mergeMap } from 'rxjs';
import type { Job, Work, WorkContext } from '../definition/processor.ts';
import type { Reason } from '../events/events.ts';
import { readable } from '../settings/thrown.ts';
import { reasonOf } from '../topics/dead-letter.ts';
import { FROM_START, type JobRecord } from '../topics/job.ts';
import { endsLane, endsSource, isStop } from '../topics/source-error.ts';
import { type TopicMap, recordsOf } from '../topics/topic.ts';
import { guard, guarded, json, misuse, mustReturn, synchronous } from '../topics/user-function.ts';
import { type AfterWork, afterWork } from './after.ts';
import { HeldParts } from './held-parts.ts';
import { LastCrawls } from './last-crawls.ts';
import { PageWriter } from './page-writer.ts';
import { jobId } from './pending-dead-letter.ts';
import type { WalkDefinition } from './walk-definition.ts';
import { type RestNote, type WalkState, afterStageOf, failedWalk, pageAfter, rest, rowOf, startOf } from './walk-state.ts';
import { openTransforms } from './walk-transforms.ts';

/** Load at which the walks of a lane take no more jobs from the topic. */
export const MAX_IN_WORK = 500;

/** The active walk of one request. */
export interface Walk<Request, Cursor extends NonNullable<Json>> {
  readonly id: string;
  readonly key: string;
  readonly request: Request;
  readonly record: JobRecord;
  /** The state that is durable. */
  state: WalkState<Cursor>;
  /** The state after all pages that were given to the lane. Their transactions may still be on their way. */
  handed: WalkState<Cursor>;
  /** True if the service refused a request of the walk for good. */
  isRefused: boolean;
  /** Returns true if the walk is for all pages, not only for the rest of a failed walk. */
  isWhole(): boolean;
  /** Returns true if the walk, together with the failed walk that it continues, is for all pages. */
  isForAll(): boolean;
}

/** The walks of a lane. A job has the stages `pages` and, if the definition has work for it, `after`. */
export class WalkWork<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap> implements Work<Request> {
  readonly backlog: number = MAX_IN_WORK;
  readonly #definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>;
  readonly #context: WorkContext<Request, Topics>;
  readonly #last: LastCrawls;
  readonly #held: HeldParts;
  readonly #after: AfterWork;
  readonly #writer: PageWriter<Query, Page, Cursor, Request, Value, Topics>;
  /** With `carry`, the newest walk of each key that has unfinished ones. */
  readonly #turns = new Map<string, Promise<void>>();
  #laneFailed = false;

  constructor(given: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>, context: WorkContext<Request, Topics>) {
    const records = recordsOf(context);
    const definition = guarded(given, context, {
      paging: mustReturn('a paging: first, query and next', isPaging),
      records,
      carry: json,
      items: mustReturn('a whole number from 0', (items) => Number.isSafeInteger(items) && Number(items) >= 0),
      credentialOf: synchronous,
      lifecycle: records,
      whole: synchronous,
    });
    this.#definition = definition;
    this.#context = context;
    this.#last = new LastCrawls(context);
    this.#held = new HeldParts(context);
    this.#after = afterWork(definition, context);
    this.#writer = new PageWriter(definition, context, this.#last, this.#held);
    context.lane.onFailure(() => {
      this.#laneFailed = true;
    });
  }

  run(job: Job, request: Request): Promise<void> {
    const { record } = job;
    const saved = rowOf<Cursor>(job);
    const stage = afterStageOf(saved, record);
    if (stage !== undefined) return this.#after.run(job, stage, saved?.after !== undefined);
    const key = saved?.key ?? this.#context.keyOf(request);
    return this.#worked(job, request, key, rest<Cursor>(record));
  }

  flush(): void {
    // A walk doesn't wait for other jobs.
  }

  async #worked(job: Job, request: Request, key: string, resumed: RestNote<Cursor> | undefined): Promise<void> {
    let ended: Walk<Request, Cursor> | undefined;
    const walk = async (): Promise<void> => {
      ended = await this.#walk(job, request, key, resumed);
    };
    await (this.#definition.carry === undefined ? walk() : this.#inTurn(job, key, walk));
    const stage = ended?.state.after;
    if (stage !== undefined && !this.#laneFailed) await this.#after.run(job, stage, false);
  }

  /**
   * Runs the walks of a key one after another, since they carry a value. Otherwise, two walks would start with the same carried value, and
   * write the same records.
   */
  async #inTurn(job: Job, key: string, walk: () => Promise<void>): Promise<void> {
    const earlier = this.#turns.get(key);
    const turn = earlier === undefined ? walk() : this.#afterTurn(job, key, earlier, walk);
    const over = turn.catch(() => undefined);
    this.#turns.set(key, over);
    try {
      await turn;
    } finally {
      if (this.#turns.get(key) === over) this.#turns.delete(key);
    }
  }

  async #afterTurn(job: Job, key: string, earlier: Promise<void>, walk: () => Promise<void>): Promise<void> {
    const { offset } = job.record;
    const page = pageAfter(rowOf(job)?.at);
    job.doing = { kind: 'walk', request: jobId(this.#context.lane, offset), key, page, isWriting: false };
    await earlier;
    if (!this.#context.stopping.aborted && !this.#laneFailed) await walk();
  }

  /** Walks the pages of a job. Resolves to the walk if it has ended well. */
  async #walk(job: Job, request: Request, key: string, resumed: RestNote<Cursor> | undefined): Promise<Walk<Request, Cursor> | undefined> {
    const { pipeline, lane, emit, tracing } = this.#context;
    const { record } = job;
    const state = this.#startOf(job, key, resumed);
    if (state === undefined) {
      await this.#skip(job, key);
      return undefined;
    }
    const walk = this.#walkOf(record, request, key, state);
    job.doing = inWorkOf(walk);
    const isBegun = rowOf(job)?.at !== undefined;
    const start = { pipeline, lane: lane.partition, key, request: walk.id, page: pageAfter(state.at) };
    emit({ type: 'request-started', ...start, items: state.items, resumed: isBegun });
    tracing?.begin(walk, start);
    try {
      await this.#pagesWritten(walk);
      tracing?.end(walk);
      return walk;
    } catch (thrown) {
      await this.#fail(job, walk, readable(thrown));
      return undefined;
    }
  }

  /** Returns the state with which a walk starts. Undefined if another walk of the key has continued the failed one that this job replays. */
  #startOf(job: Job, key: string, resumed: RestNote<Cursor> | undefined): WalkState<Cursor> | undefined {
    const isCarried = this.#definition.carry !== undefined;
    const { record } = job;
    const kept = rowOf<Cursor>(job);
    if (kept?.at !== undefined) return kept;
    const isFromStart = record.resume === FROM_START;
    const failed = isCarried && !isFromStart ? failedWalk<Cursor>(this.#context, key) : undefined;
    if (isCarried && resumed?.of !== undefined && resumed.of !== failed?.of) return undefined;
    const note = resumed?.of === undefined ? (resumed ?? failed) : failed;
    const before = isCarried && !isFromStart ? this.#last.of(key)?.carried : undefined;
    const carried = before === undefined ? {} : { carried: { before, now: before } };
    return { key, items: 0, request: kept?.request ?? record.value, ...carried, ...(note && startOf(note)) };
  }

  #walkOf(record: JobRecord, request: Request, key: string, state: WalkState<Cursor>): Walk<Request, Cursor> {
    const walk: Walk<Request, Cursor> = {
      id: jobId(this.#context.lane, record.offset),
      key,
      request,
      record,
      state,
      handed: state,
      isRefused: false,
      isWhole: () => walk.state.isRest !== true && walk.isForAll(),
      isForAll: () => this.#definition.whole?.(request) ?? true,
    };
    return walk;
  }

  /** Finishes a replayed job whose failed walk another walk of its key has already continued. */
  async #skip({ record }: Job, key: string): Promise<void> {
    const { lane, emit } = this.#context;
    await lane.commit({ records: [], finished: [record.offset] });
    const message = `${key}: a later job has continued this failed one, so the replay has nothing to do`;
    emit({ type: 'notice', level: 'info', message });
  }

  /** Resolves when all pages of a walk are written, or when a stopped run waits for it no longer. */
  async #pagesWritten(walk: Walk<Request, Cursor>): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      const pages = defer(async () => {
        await this.#noteOffsets(walk);
        await this.#held.forgetDismissed(walk.key);
      }).pipe(mergeMap(() => this.#pagesOf(walk)));
      const subscription: Subscription = pages.subscribe({ error: reject, complete: resolve });
      const forget = onAbort(this.#context.abandoned, () => {
        subscription.unsubscribe();
        resolve();
      });
      subscription.add(forget);
    });
  }

  /** Notes the offsets at which the records of a complete walk will begin. `after` gets them. */
  async #noteOffsets(walk: Walk<Request, Cursor>): Promise<void> {
    if (this.#definition.after === undefined || pageAfter(walk.state.at) > 1 || !walk.isWhole()) return;
    walk.state = walk.handed = { ...walk.state, offsets: await this.#after.offsets() };
  }

  // The next page is requested before this one is written, so its permit is part of this page's transaction, and the request is sent after
  // that: a crash repeats at most one page. Don't wait between a page and its commit. If the journal has permits ahead, the request is sent
  // at once, up to `unwrittenPages`.
  #pagesOf(walk: Walk<Request, Cursor>) {
    const definition = this.#definition;
    const { pipeline, credits, unwrittenPages } = this.#context;
    const { key, request, state } = walk;
    const transforms = openTransforms<Page, Value>(definition.through ?? [], state.through, pipeline);
    const paging = definition.paging(request, { carried: state.carried?.before, held: this.#held.of(key) });
    const pages = walkPages({
      paging,
      from: state.at,
      async query(query, reading) {
        try {
          return await definition.source.query(query, reading);
        } catch (error) {
          walk.isRefused = !reasonOf(error).retryable;
          throw error;
        }
      },
      service: pipeline,
      subject: () => key,
      call: (name, run) => guard({ pipeline, name: `${name} of paging` }, synchronous, run),
      misuse: (name, what, why) => misuse({ pipeline, name: `${name} of paging` }, what, why),
    });
    const readAhead = Math.max(1, unwrittenPages - 1);
    return pages.drain((page) => defer(() => this.#writer.write(walk, page, transforms)), {
      credits,
      readAhead,
      concurrency: readAhead + 1,
      walk,
    });
  }

  /** Ends a walk that has failed as a dead letter. Leaves it to the next run if the run stops; throws if the lane can't continue. */
  async #fail(job: Job, walk: Walk<Request, Cursor>, error: unknown): Promise<void> {
    const { stopping, tracing } = this.#context;
    let reason: Reason | undefined;
    try {
      // A page that can't be written doesn't wait for those before it. This commit ends after theirs.
      if (walk.handed !== walk.state) await this.#context.lane.commit({ records: [] }).catch(() => undefined);
      if (this.#laneFailed) return;
      // A source that other code has stopped also ends the lane, because it sends nothing more.
      if (endsSource(error) || endsLane(error) || (isStop(error) && !stopping.aborted)) {
        reason = reasonOf(error);
        throw error;
      }
      // A stopped source can reject with any error. The next run resumes the walk at its checkpoint.
      if (stopping.aborted) return;
      job.doing = undefined;
      reason = await this.#writer.writeFailed(walk, error);
    } finally {
      tracing?.end(walk, reason);
    }
  }
}

/** Returns a walk as gauges and forecasts see it while it goes on. */
function inWorkOf<Request, Cursor extends NonNullable<Json>>(walk: Walk<Request, Cursor>): NonNullable<Job['doing']> {
  return {
    kind: 'walk',
    request: walk.id,
    key: walk.key,
    walk,
    get page() {
      return pageAfter(walk.state.at);
    },
    get isWriting() {
      return walk.handed !== walk.state;
    },
  };
}

function isPaging(result: unknown): boolean {
  const { query, next } = Object(result) as Partial<Record<'query' | 'next', unknown>>;
  return typeof query === 'function' && typeof next === 'function';
}
