import { walkPages } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import { type Subscription, defer, mergeMap } from 'rxjs';
import { reasonOf } from '../topics/dead-letter.ts';
import { refuse as refuseRequest, requestId } from './pending-dead-letter.ts';
import { PipelineError } from '../settings/pipeline-error.ts';
import { FROM_START, type RequestRecord } from '../topics/request.ts';
import { readable, textOf } from '../settings/thrown.ts';
import type { TopicMap } from '../topics/topic.ts';
import { callUser, misuse } from '../topics/user-function.ts';
import type { Processor, Worker, WorkerContext } from '../definition/processor.ts';
import { endsLane, endsSource, isStop } from '../topics/source-error.ts';
import type { Reason } from '../events/events.ts';
import { type AfterStage, afterWork } from './after.ts';
import { failedWalks } from './failed-walks.ts';
import { heldParts } from './held-parts.ts';
import { lastCrawls, lastCrawlsIn } from './last-crawls.ts';
import { pageWriter } from './page-writer.ts';
import type { WalkDefinition } from './walk-definition.ts';
import { type RestNote, type WalkState, afterStageOf, pageAfter, rest, startOf, walkStates } from './walk-state.ts';
import { openTransforms } from './walk-transforms.ts';

/** Load at which the walks of a lane take no more jobs from the topic. */
export const MAX_IN_WORK = 500;

/**
 * Processes each request as a walk through many pages. A page's records, its checkpoint and the transforms' state are one transaction. The
 * walks of a lane run concurrently. With `carry`, walks of one key run one after another.
 */
export function walk<Query, Page, Cursor extends NonNullable<Json>, Request, Topics extends TopicMap, Value = Page>(
  definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
): Processor<Request, Topics> {
  const names = (definition.through ?? []).map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new PipelineError({
      code: 'HEADGATE_DEFINITION',
      message: `walk: two transforms are named ${twice}. Give each its own name.`,
    });
  }
  const { source } = definition;
  /**
   * Returns the names of the credentials that may send the request at a cursor. Undefined: any may. Throws if the definition's `paging`
   * throws.
   */
  const credentialsOf = (pipeline: string, request: Request, cursor: Cursor | undefined, carried: Json | undefined) => {
    if (source.credentialsOf === undefined) return undefined;
    const paging = callUser({ pipeline, name: 'paging' }, () => definition.paging(request, { carried, held: [] }));
    return source.credentialsOf(paging.query(cursor ?? paging.first));
  };
  return {
    sources: [source],
    open: (context) => walkWorker(definition, context),
    left(state, pipeline) {
      const states = walkStates<Cursor>(state);
      return (record, request) => {
        const saved = states.get(record.offset);
        if (afterStageOf(saved, record) !== undefined) return { kind: 'after' };
        const resumed = saved?.at === undefined ? rest<Cursor>(record) : undefined;
        const { at, isRest, carried } = saved?.at !== undefined ? saved : resumed === undefined ? {} : startOf(resumed);
        const whole = isRest !== true && (callUser({ pipeline, name: 'whole' }, () => definition.whole?.(request)) ?? true);
        const credentials = credentialsOf(pipeline, request, at?.cursor, carried?.before);
        return { kind: 'walk', page: pageAfter(at), whole, ...(credentials !== undefined && { credentials }) };
      };
    },
    lastCrawl(state, { kind }) {
      const last = lastCrawlsIn(state, kind);
      return (_, key) => last.get(key);
    },
  };
}

/** The active walk of one request. */
export interface Walk<Request, Cursor extends NonNullable<Json>> {
  readonly id: string;
  readonly key: string;
  readonly request: Request;
  readonly record: RequestRecord;
  state: WalkState<Cursor>;
  isWriting: boolean;
  /** True if the service refused a request of the walk for good. */
  isRefused: boolean;
  subscription?: Subscription;
  /** Returns true if the walk is for all pages, not only for the rest of a failed walk. */
  isWhole(): boolean;
  /** Returns true if the walk, together with the failed walk that it continues, is for all pages. */
  isForAll(): boolean;
  /** Calls a function of the definition for this walk. `name`: the function's name, for errors. */
  readonly call: <Result>(name: string, call: () => Result) => Result;
}

/** A request that the worker has taken. `rest`: the position of the failed walk that a replayed request continues. */
interface Job<Request, Cursor extends NonNullable<Json>> {
  readonly record: RequestRecord;
  readonly request: Request;
  readonly key: string;
  readonly rest: RestNote<Cursor> | undefined;
}

function walkWorker<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap>(
  definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  type Walking = Walk<Request, Cursor>;
  const { pipeline, lane, notifier, emit, credits, tracing } = context;
  const { source } = definition;
  const saved = walkStates<Cursor>(lane.stateUnder);
  const active = new Map<number, Walking | 'ending' | 'waiting' | 'after'>();
  /** With `carry`, the jobs that wait for the active walk of their key. */
  const waiting = new Map<string, Job<Request, Cursor>[]>();
  const last = lastCrawls(context);
  const failures = failedWalks<Cursor>(context);
  const held = heldParts(context);
  const after = afterWork(definition, context);
  const writer = pageWriter(definition, context, last, failures, held);
  let isStopping = false;
  let laneFailed = false;
  lane.onFailure(() => {
    laneFailed = true;
  });

  /**
   * Starts the walk of a request, or lets it wait for the active walk of its key if walks carry a value. Otherwise, both walks would start
   * with the same carried value, and write the same records.
   */
  const admit = (record: RequestRecord, request: Request): void => {
    const { offset } = record;
    const stage = afterStageOf(saved.get(offset), record);
    if (stage !== undefined) {
      runAfter(record, stage, saved.get(offset)?.after !== undefined);
      return;
    }
    const key = saved.get(offset)?.key ?? context.keyOf(request, record.key || requestId(lane, offset));
    const job: Job<Request, Cursor> = { record, request, key, rest: rest(record) };
    const jobs = waiting.get(key);
    if (jobs === undefined) {
      if (definition.carry !== undefined) waiting.set(key, []);
      begin(job);
    } else {
      active.set(offset, 'waiting');
      jobs.push(job);
    }
  };

  const begin = ({ record, request, key, rest: resumed }: Job<Request, Cursor>): void => {
    const { offset } = record;
    const kept = saved.get(offset);
    const isBegun = kept?.at !== undefined;
    const isFromStart = record.resume === FROM_START;
    const failed = definition.carry && !isBegun && !isFromStart ? failures.of(key) : undefined;
    if (!isBegun && definition.carry !== undefined && resumed?.of !== undefined && resumed.of !== failed?.of) {
      skip(record, key);
      return;
    }
    const note = resumed?.of === undefined ? (resumed ?? failed) : failed;
    const before = definition.carry && !isFromStart ? last.of(key)?.carried : undefined;
    const carried = before === undefined ? {} : { carried: { before, now: before } };
    const call = <Result>(name: string, run: () => Result): Result => callUser({ pipeline, key, name }, run);
    const current: Walking = {
      id: requestId(lane, offset),
      key,
      request,
      record,
      state: isBegun ? kept : { key, items: 0, request: kept?.request ?? record.value, ...carried, ...(note && startOf(note)) },
      isWriting: false,
      isRefused: false,
      isWhole: () => current.state.isRest !== true && current.isForAll(),
      isForAll: () => call('whole', () => definition.whole?.(request)) ?? true,
      call,
    };
    active.set(offset, current);
    const { id, state } = current;
    const start = { pipeline, lane: lane.partition, key, request: id, page: pageAfter(state.at) };
    emit({ type: 'request-started', ...start, items: state.items, resumed: isBegun });
    tracing?.begin(current, start);
    current.subscription = defer(async () => {
      await noteOffsets(current);
      await held.forgetDismissed(key);
    })
      .pipe(mergeMap(() => pagesOf(current)))
      .subscribe({ error: (error: unknown) => fail(current, error), complete: () => leave(current) });
  };

  /** Finishes a replayed request whose failed walk another walk of its key has already continued. */
  const skip = (record: RequestRecord, key: string): void => {
    active.set(record.offset, 'ending');
    context.lane.commit({ records: [], finished: [record.offset] }).then(
      () => {
        emit({
          type: 'notice',
          level: 'info',
          message: `${key}: a later job has continued this failed one, so the replay has nothing to do`,
        });
        nextOf(key);
        release(record.offset);
      },
      (failure: unknown) => notifier.fail(failure),
    );
  };

  /** Notes the offsets at which the records of a complete walk will begin. `after` gets them. */
  const noteOffsets = async (current: Walking): Promise<void> => {
    if (definition.after === undefined || pageAfter(current.state.at) > 1 || !current.isWhole()) return;
    current.state = { ...current.state, offsets: await after.offsets() };
  };

  // With `readAhead: 1`, the permit for the next page is usually part of this page's transaction, and the next request is sent after that
  // transaction. So a crash repeats at most one page. Don't wait between a page and its commit.
  const pagesOf = (current: Walking) => {
    const { key, request, state, call } = current;
    const transforms = openTransforms<Page, Value>(definition.through ?? [], state.through, { pipeline, key });
    const paging = call('paging', () => definition.paging(request, { carried: state.carried?.before, held: held.of(key) }));
    if (typeof paging?.query !== 'function' || typeof paging.next !== 'function')
      throw misuse({ pipeline, key, name: 'paging' }, `returns ${textOf(paging)}`, 'It must return a paging: first, query and next');
    const pages = walkPages({
      paging,
      from: state.at,
      async query(query, reading) {
        try {
          return await source.query(query, reading);
        } catch (error) {
          current.isRefused = !reasonOf(error).retryable;
          throw error;
        }
      },
      service: pipeline,
      subject: () => key,
      call: (name, run) => call(`${name} of paging`, run),
      misuse: (name, what, why) => misuse({ pipeline, key, name: `${name} of paging` }, what, why),
    });
    return pages.drain((page) => defer(() => writer.write(current, page, transforms)), { credits, readAhead: 1, walk: current });
  };

  const fail = (current: Walking, thrown: unknown): void => {
    const error = readable(thrown);
    if (laneFailed) {
      leave(current);
      return;
    }
    // A source that other code has stopped also ends the lane, because it sends nothing more.
    if (endsSource(error) || endsLane(error) || (isStop(error) && !isStopping)) {
      // Call this before `leave`, so that the unfinished work of the failed lane still includes this walk.
      notifier.fail(error);
      leave(current, reasonOf(error));
      return;
    }
    // A stopped source can reject with any error. The next run resumes the walk at its checkpoint.
    if (isStopping) {
      leave(current);
      return;
    }
    active.set(current.record.offset, 'ending');
    writer.writeFailed(current, error).then(
      (reason) => leave(current, reason),
      (failure: unknown) => notifier.fail(failure),
    );
  };

  /** Removes a walk that is done, or that continues when its lane is next opened. Starts the next walk of its key. */
  const leave = (current: Walking, error?: Reason): void => {
    tracing?.end(current, error);
    nextOf(current.key);
    const { after: stage } = current.state;
    if (stage === undefined || laneFailed) release(current.record.offset);
    else runAfter(current.record, stage, false);
  };

  /** Runs the work after a walk. Its job stays unfinished until then. */
  const runAfter = (record: RequestRecord, stage: AfterStage, isResumed: boolean): void => {
    active.set(record.offset, 'after');
    after
      .run({ record, stage, isResumed })
      .catch((error: unknown) => {
        if (!isStopping) notifier.fail(error);
      })
      .finally(() => release(record.offset));
  };

  /** Starts the next walk of a key, unless the lane ends. */
  const nextOf = (key: string): void => {
    const jobs = waiting.get(key) ?? [];
    const next = isStopping || laneFailed ? undefined : jobs.shift();
    if (next !== undefined) begin(next);
    else {
      waiting.delete(key);
      for (const { record } of jobs) active.delete(record.offset);
    }
  };

  const release = (offset: number): void => {
    active.delete(offset);
    notifier.notify();
  };

  /** Dead-letters a request whose walk couldn't start, for example because `keyOf` threw. */
  const refuse = async (record: RequestRecord, error: unknown): Promise<void> => {
    active.set(record.offset, 'ending');
    await refuseRequest(context, record, error, false);
    release(record.offset);
  };

  const walks = (): readonly Walking[] => [...active.values()].filter((walking) => typeof walking !== 'string');
  return {
    backlog: MAX_IN_WORK,
    get load() {
      return active.size;
    },
    take(record, request) {
      try {
        admit(record, request);
      } catch (error) {
        refuse(record, error).catch((failure: unknown) => notifier.fail(failure));
      }
    },
    flush: () => undefined,
    stop() {
      isStopping = true;
      source.stop();
      after.stop();
    },
    get isBusy() {
      return active.size > 0;
    },
    abandon() {
      for (const { subscription } of walks()) subscription?.unsubscribe();
    },
    inWork: () => ({
      walks: [
        ...walks().map((walking) => {
          const { id, key, record, state, isWriting } = walking;
          return { offset: record.offset, request: id, key, page: pageAfter(state.at), walk: walking, isWriting };
        }),
        ...[...waiting.values()].flat().map(({ record: { offset }, key }) => {
          return { offset, request: requestId(lane, offset), key, page: pageAfter(saved.get(offset)?.at), isWriting: false };
        }),
      ],
      keys: 0,
      behind: after.current,
    }),
    lastCrawl: (_, key) => last.of(key),
  };
}
