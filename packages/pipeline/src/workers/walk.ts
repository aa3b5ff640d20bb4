import { type Json, PageStream, type Transform, creditPool } from '@headgate/throttle';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import { type Subscription, defer, mergeMap } from 'rxjs';
import { endsLane, endsSource, isStop } from '../endings.ts';
import { textOf } from '../thrown.ts';
import { callUser, callUserList, misuse, userError } from '../user-function.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import { PipelineError } from '../pipeline-error.ts';
import { type RequestRecord, requestContent } from '../requests/request.ts';
import { reasonOf } from '../requests/dead-letter.ts';
import type { Reason } from '../events.ts';
import { type PendingRecord, type RecordMakers, type TopicMap, logRecords, pendingRecords } from '../topic.ts';
import type { SourceControls, StateOfLane, Work, Worker, WorkerContext } from '../worker.ts';
import { type After, afterWork, lastCrawls } from './after.ts';
import { fitting } from './fitting.ts';
import { letter, replayable, requestId } from './letters.ts';
import { type SeenCheckpoints, seenCheckpoints } from './seen-checkpoints.ts';

/** Options of {@link walk}. */
export interface WalkDefinition<Api extends SourceControls, Request, Page, Value, Topics extends TopicMap> {
  /** The source that is walked. The lane closes it. */
  readonly source: Api;
  /** The pages of a request, behind the checkpoint `from`; undefined: from the start. */
  pages(api: Api, request: Request, from: Json | undefined, at: WalkStart): PageStream<Page>;
  /** Transforms between pages and records. Their state goes into the checkpoint by itself. */
  readonly through?: readonly Transform<Page, Page>[] | readonly [Transform<Page, Value>];
  /** The records of a page, written in one transaction with its checkpoint. */
  records(value: Value, at: WalkPosition<Request, Topics>): Iterable<PendingRecord>;
  /**
   * Where the walk continues after a page; undefined or null: it was the last one, and `pages` ends with it. `before`: where the walk
   * continued before that page, if it did.
   */
  checkpoint(page: Page, before: Json | undefined): Json | undefined;
  /**
   * Makes the next walk of a key an incremental one: called for each page with the value it gave before, first with the one of the key's last
   * complete walk. Its last value is in the transaction of the walk's last page, and `pages` of the next walk gets it as `at.carried`, for
   * 90 days: the newest time of change, for one. A walk that fails carries nothing on.
   */
  carry?(page: Page, carried: Json | undefined): Json | undefined;
  /** Items of a page, for counts and displays. Default: its records. */
  items?(value: Value): number;
  /** Name of the credential of a page's request, for displays. */
  credentialOf?(page: Page): string;
  /** Records of a walk's change of state: in its first transaction, its last one, and that of its dead letter. */
  lifecycle?(change: WalkChange, at: Omit<WalkPosition<Request, Topics>, 'page' | 'warn'>): Iterable<PendingRecord>;
  /** How a page's records are made smaller, for the dead letter of one that its topic doesn't take: `take smaller pages`. */
  readonly smallerBy?: string;
  /** True for a request of all pages. Default: every request. `plan` and `after` don't compare a walk of some pages with others. */
  whole?(request: Request): boolean;
  /**
   * The request that continues at a checkpoint, for the dead letter of a walk that failed midway: as the requests topic takes it, with the
   * same key. Default, and where it gives no such request: the request itself, from its start.
   */
  resumeAt?(request: Request, from: Json): unknown;
  /** Work behind a whole walk that has completed, such as comparing it with the one before. */
  readonly after?: After<NoInfer<Topics>>;
  /** Name of that work, for notices: `the comparison of its last two crawls`. Default `the work behind its walk`. */
  readonly afterName?: string;
}

/** Where a walk begins, or goes on. */
export interface WalkStart {
  /** The number of its first page, 1-based. */
  readonly page: number;
  /** The last value of `carry` in the last complete walk of the key. The same for all pages of a walk, however often it is resumed. */
  readonly carried: Json | undefined;
}

/** The page that records are made of, and its walk. */
export interface WalkPosition<Request, Topics extends TopicMap> {
  /** The request, as the definition's schema gives it. */
  readonly request: Request;
  /** Key of the request. */
  readonly key: string;
  /** Unique on the log, and the same however often the walk is resumed: `<requests topic>-<partition>-<offset>`. */
  readonly id: string;
  /** 1-based. */
  readonly page: number;
  /** Makes records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Emits a warning about the page once it is durable. */
  readonly warn: (message: string) => void;
}

/** A walk's change of state, for `WalkDefinition.lifecycle`. */
export type WalkChange = {
  readonly state: 'started' | 'completed' | 'failed';
  /** Pages written so far. */
  readonly pages: number;
  readonly items: number;
  /** The reason of a failure. */
  readonly reason?: Reason;
};

/** A walk's state between two transactions, as the lane's state keeps it. */
interface WalkState {
  readonly key: string;
  /** Undefined before the first page. */
  readonly from?: Json | undefined;
  /** The next page's number, 1-based. */
  readonly page: number;
  readonly items: number;
  readonly seen: string;
  /** The states of transforms, by name. */
  readonly through?: Readonly<Record<string, Json>> | undefined;
  /** Values of `carry`: of the walk before, and of the pages of this one. */
  readonly carried?: { readonly before?: Json | undefined; readonly now?: Json | undefined } | undefined;
  /** By topic: no record of the walk lies before this offset. Kept where there is work behind the walk. */
  readonly offsets?: Readonly<Record<string, number>> | undefined;
  /** The request's own text: its topic may not hold it as long as the walk takes. */
  readonly request: string | null;
}

interface Walk<Request> {
  readonly offset: number;
  readonly id: string;
  readonly key: string;
  readonly request: Request;
  readonly record: RequestRecord;
  readonly seen: SeenCheckpoints;
  state: WalkState;
  /** Set when `checkpoint` has called a page the last: resolves when `pages` has ended as well, and rejects when it has not. */
  end?: PromiseWithResolvers<void>;
  isWriting: boolean;
  /** Epoch ms at which the request for its next page began. */
  since: number;
  subscription?: Subscription;
}

/** Requests that a lane has in flight before the rest is left in the topic. */
export const BACKLOG = 500;

/**
 * Works requests that are walks: one request, many pages. A page's records, its checkpoint, the transforms' state and the budget's journal
 * are one transaction. All requests taken are walked at once, and the budget's queue lets them take turns. TypeScript takes the type of a
 * page from `pages`: write it before `records`, `checkpoint` and `carry`, or annotate their `page`, which is `unknown` otherwise.
 */
export function walk<Api extends SourceControls, Request, Page, Topics extends TopicMap, Value = Page>(
  definition: WalkDefinition<Api, Request, Page, Value, Topics>,
): Work<Request, Topics> {
  const names = (definition.through ?? []).map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) {
    throw new PipelineError({
      code: 'HEADGATE_DEFINITION',
      message: `walk: two transforms are called ${twice}. Give each a name of its own.`,
    });
  }
  return {
    sources: [definition.source],
    open: (context) => walker(definition, context),
    left(state, pipeline) {
      const states = walkStates(state);
      return (offset, request) => {
        const { page = 1, from } = states.get(offset) ?? {};
        return { kind: 'walk', page, from, whole: callUser({ pipeline, name: 'whole' }, () => definition.whole?.(request)) ?? true };
      };
    },
    lastCrawl(state, { kind }) {
      const last = lastCrawls(state, kind);
      return (_, key) => last.get(key);
    },
  };
}

/** The unfinished walks in a lane's state. */
export function resumedWalks(state: StateOfLane): readonly RequestRecord[] {
  return [...walkStates(state)].map(([offset, { key, request }]) => ({ offset, key, value: request }));
}

function walkStates(state: StateOfLane): ReadonlyMap<number, WalkState> {
  return new Map(state(STATE_KEYS.walk).map(({ key, value }) => [Number(key), value as WalkState]));
}

function walker<Api extends SourceControls, Request, Page, Value, Topics extends TopicMap>(
  definition: WalkDefinition<Api, Request, Page, Value, Topics>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  const { pipeline, lane, notifier, emit, credits, topics, tracing } = context;
  const { source, through = [] } = definition;
  const kept = walkStates(lane.stateUnder);
  const active = new Map<number, Walk<Request> | 'ending'>();
  const isWhole = ({ request, key }: Pick<Walk<Request>, 'request' | 'key'>): boolean =>
    callUser({ pipeline, key, name: 'whole' }, () => definition.whole?.(request) ?? true);
  const after = afterWork(definition, context);
  let isStopping = false;
  let laneFailed = false;
  lane.onFailure(() => {
    laneFailed = true;
  });

  const release = (offset: number): void => {
    active.delete(offset);
    notifier.notify();
  };

  /** The walk is complete, or continues where its lane is opened next. */
  const left = (current: Walk<Request>, error?: Reason): void => {
    tracing?.end(current, error);
    release(current.offset);
  };

  /** Its pages have ended. */
  const ended = (current: Walk<Request>): void => {
    if (current.end !== undefined || isStopping) left(current);
    else stopWalk(current, endedEarly(pipeline, current.state));
  };

  const begin = (record: RequestRecord, request: Request): void => {
    const { offset } = record;
    const saved = kept.get(offset);
    const key = saved?.key ?? context.keyOf(request, record.key || requestId(lane, offset));
    const state: WalkState = saved ?? { key, page: 1, items: 0, seen: '', request: record.value, ...carriedBefore(key) };
    const seen = seenCheckpoints(state.seen);
    const current: Walk<Request> = {
      offset,
      id: requestId(lane, offset),
      key,
      request,
      record,
      seen,
      state,
      isWriting: false,
      since: context.clock.epochMs(),
    };
    active.set(offset, current);
    emit({
      type: 'request-started',
      pipeline,
      lane: lane.partition,
      key,
      request: current.id,
      page: state.page,
      items: state.items,
      resumed: saved !== undefined,
    });
    tracing?.begin(current, { pipeline, lane: lane.partition, key, request: current.id, page: state.page });
    current.subscription = defer(async () => await offsetsOf(current))
      .pipe(mergeMap((offsets) => pagesOf(current, offsets)))
      .subscribe({ error: (error: unknown) => stopWalk(current, error), complete: () => ended(current) });
  };

  const carriedBefore = (key: string): Pick<WalkState, 'carried'> => {
    const before = definition.carry && after.carried(key);
    return before === undefined ? {} : { carried: { before, now: before } };
  };

  /** Where a walk's records will begin, for the work behind it; undefined where that can't be known. */
  const offsetsOf = async (current: Walk<Request>): Promise<WalkState['offsets']> => {
    if (definition.after === undefined) return undefined;
    if (current.state.page > 1) return current.state.offsets;
    return isWhole(current) ? await after.offsets() : undefined;
  };

  // The grant for the next page is in the transaction of this one, and its request is sent after that: a crash repeats one page at most.
  // So nothing may be waited for between a page and its commit.
  const pagesOf = (current: Walk<Request>, offsets: WalkState['offsets']) => {
    const { key, request, state } = current;
    const name = (of: string) => ({ pipeline, key, name: of });
    const transforms = through.map((transform) => ({
      name: transform.name,
      opened: callUser(name(`transform ${transform.name}`), () => transform.open(state.through?.[transform.name])),
    }));
    const transformed = (page: Page): Value[] => {
      let values: unknown[] = [page];
      for (const { name: of, opened } of transforms)
        values = values.flatMap((value) => callUserList<unknown>(name(`transform ${of}`), () => opened.next(value as Page)));
      return values as Value[];
    };
    const remembered = (): WalkState['through'] => {
      const states = transforms.map(({ name: of, opened }) => [of, callUser(name(`transform ${of}`), () => opened.state?.())] as const);
      const some = states.filter(([, value]) => value !== undefined);
      return some.length === 0 ? undefined : (Object.fromEntries(some) as Record<string, Json>);
    };
    const pages = callUser(name('pages'), () =>
      definition.pages(source, request, state.from, { page: state.page, carried: state.carried?.before }),
    );
    if (typeof pages?.reader !== 'function')
      throw misuse(name('pages'), `returns ${textOf(pages)}`, 'It has to return a PageStream, as api.walk does');
    return untilLast(current, pages).drain(
      (page) => defer(() => write(current, page, { values: transformed(page), through: remembered(), offsets })),
      {
        credits,
        readAhead: 1,
        walk: current,
      },
    );
  };

  /** The pages, of which none may come after the one that `checkpoint` calls the last. */
  const untilLast = (current: Walk<Request>, pages: PageStream<Page>): PageStream<Page> =>
    new PageStream(() => {
      const reader = pages.reader();
      return {
        async read(options) {
          const { end } = current;
          if (end === undefined) return await reader.read(options);
          try {
            // The last page keeps its credit until this one has come, or has not.
            const more = await reader.read({ ...options, credits: creditPool({ max: Infinity }) });
            more?.credit.release();
            if (more !== undefined) throw pageAfterLast(pipeline, current.state);
            end.resolve();
            return undefined;
          } catch (error) {
            end.reject(error);
            throw error;
          }
        },
      };
    });

  const write = async (
    current: Walk<Request>,
    page: Page,
    { values, through: remembered, offsets }: { values: Value[]; through: WalkState['through']; offsets: WalkState['offsets'] },
  ): Promise<void> => {
    const { state, key, id, offset, seen, request } = current;
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const at: WalkPosition<Request, Topics> = { request, key, id, page: state.page, topics, warn };
    const name = (of: string) => ({ pipeline, key, name: of });
    const pending = values.flatMap((value) => pendingRecords(name('records'), context, () => definition.records(value, at)));
    const from = callUser(name('checkpoint'), () => definition.checkpoint(page, state.from));
    const carried = definition.carry && {
      ...state.carried,
      now: callUser(name('carry'), () => definition.carry?.(page, state.carried?.now)),
    };
    const items = itemsOf(current, values, pending);
    const credential = callUser(name('credentialOf'), () => definition.credentialOf?.(page));
    const isLast = from === undefined || from === null;
    if (isLast) {
      current.end = Promise.withResolvers();
      current.end.promise.catch(() => undefined);
    }
    const total = state.items + items;
    const records = [
      ...startedRecords(current),
      ...fittingPage(
        state,
        logRecords(pending, { pipeline, request: id, defaultId: String(state.page), headers: tracing?.headers(current) }),
      ),
      ...(isLast ? lifecycle(current, { state: 'completed', pages: state.page, items: total }) : []),
    ];
    const text: string | undefined = isLast ? '' : callUser(name('checkpoint'), () => JSON.stringify(from));
    if (text === undefined) throw misuse(name('checkpoint'), `returns ${textOf(from)}`, 'It has to return what JSON can hold');
    const comesAgain = seen.add(text) && !isLast;
    const next: WalkState = {
      key,
      from,
      page: state.page + 1,
      items: total,
      seen: seen.snapshot(),
      ...(remembered !== undefined && { through: remembered }),
      ...(carried !== undefined && { carried }),
      ...(offsets !== undefined && { offsets }),
      request: current.record.value,
    };
    if (!isLast) fittingCheckpoint(offset, next, state.page);
    if (isLast && carried?.now !== undefined) fittingCarried(next, state.page);
    // Before the request is finished: after that nobody would ask for a page more.
    if (isLast) await current.end?.promise;
    // Behind all that may throw: it remembers the walk as complete.
    const ending = isLast
      ? after.ending({ key, id, pages: state.page, items: total, whole: isWhole(current), offsets, carried: carried?.now })
      : undefined;
    current.isWriting = true;
    await lane.commit({
      records,
      state: [[STATE_KEYS.walk + String(offset), isLast ? null : next], ...(ending?.state ?? [])],
      finished: isLast ? [offset] : [],
      work: current,
    });
    current.state = next;
    current.isWriting = false;
    current.since = context.clock.epochMs();
    emit({
      type: 'page-written',
      pipeline,
      key,
      request: id,
      page: state.page,
      items,
      last: isLast,
      ...(credential !== undefined && { credential }),
    });
    emit({ type: 'records-written', pipeline, kind: 'walk', counts: countsOf(pending) });
    for (const message of warnings) emit({ type: 'notice', level: 'warn', message });
    if (isLast) emit({ type: 'request-completed', pipeline, key, request: id, pages: state.page, items: total });
    ending?.start();
    // The source itself sees a circle since its start only, which was the last restart.
    if (comesAgain) throw cursorLoop(pipeline, state);
  };

  const itemsOf = ({ key }: Walk<Request>, values: readonly Value[], pending: readonly PendingRecord[]): number => {
    if (definition.items === undefined) return pending.reduce((sum, { count }) => sum + count, 0);
    const name = { pipeline, key, name: 'items' };
    return values.reduce((sum, value) => {
      const items = callUser(name, () => definition.items?.(value)) ?? 0;
      if (!(Number.isSafeInteger(items) && items >= 0))
        throw misuse(name, `returns ${textOf(items)}`, 'It has to return a whole number, 0 or more');
      return sum + items;
    }, 0);
  };

  const fittingPage = ({ key, page }: WalkState, records: readonly (NewRecord | RecordSeries)[]) =>
    fitting(records, { pipeline, key, lane, name: 'records', which: `page ${page}`, orElse: definition.smallerBy });

  const fittingCheckpoint = (offset: number, next: WalkState, page: number): void => {
    const { key } = next;
    const record = callUser({ pipeline, key, name: 'checkpoint' }, () => lane.stateRecord([STATE_KEYS.walk + String(offset), next]));
    fitting([record], { pipeline, key, lane, name: 'checkpoint', which: `its checkpoint behind page ${page}` });
  };

  /** As its last walk's, in the state of its key. */
  const fittingCarried = ({ key, carried, items }: WalkState, page: number): void => {
    const value = { pages: page, items, carried: carried?.now };
    const record = callUser({ pipeline, key, name: 'carry' }, () => lane.stateRecord([STATE_KEYS.last + context.kind + key, value]));
    fitting([record], { pipeline, key, lane, name: 'carry', which: `the value that page ${page} carries on` });
  };

  /** A walk's first transaction says that it was started; a resumed one has said so. */
  const startedRecords = (current: Walk<Request>) =>
    current.state.page === 1 ? lifecycle(current, { state: 'started', pages: 0, items: 0 }) : [];

  const lifecycle = (current: Walk<Request>, change: WalkChange) => {
    const { key, request, id } = current;
    const pending = pendingRecords({ pipeline, key, name: 'lifecycle' }, context, () =>
      definition.lifecycle?.(change, { request, key, id, topics }),
    );
    const records = logRecords(pending, { pipeline, request: id, defaultId: change.state, headers: tracing?.headers(current) });
    return fitting(records, { pipeline, key, lane, name: 'lifecycle', which: `the record of its state "${change.state}"` });
  };

  const stopWalk = (current: Walk<Request>, error: unknown): void => {
    if (laneFailed) {
      left(current);
      return;
    }
    // A source that somebody else has stopped sends nothing more.
    if (endsSource(error) || endsLane(error) || (isStop(error) && !isStopping)) {
      // First: what is left when the lane fails has this walk.
      notifier.fail(error);
      left(current, reasonOf(error));
      return;
    }
    // Whatever a source rejects with when it is stopped: the walk continues at its checkpoint.
    if (isStopping) {
      left(current);
      return;
    }
    active.set(current.offset, 'ending');
    failWalk(current, error).catch((failure: unknown) => notifier.fail(failure));
  };

  const failWalk = async (current: Walk<Request>, thrown: unknown): Promise<void> => {
    const { state, key, id, offset, request, record } = current;
    const error = reasonOf(thrown).code === 'HEADGATE_UNEXPECTED' ? userError({ pipeline, key, name: 'pages' }, thrown) : thrown;
    const { code, message } = reasonOf(error);
    // Replayed, it goes on where it stopped; from inside a circle there is no going on.
    const { from } = state;
    const goesOn = from !== undefined && code !== 'HEADGATE_CURSOR_LOOP' && definition.resumeAt !== undefined;
    const change: WalkChange = { state: 'failed', pages: state.page - 1, items: state.items, reason: { code, message } };
    // The walk has failed already: a second error of its definition changes nothing.
    const content = replayable(record, {
      request: () => (goesOn ? callUser({ pipeline, key, name: 'resumeAt' }, () => definition.resumeAt?.(request, from)) : undefined),
      isFor: (text) => context.keyOf(context.parse(text), key) === key,
    });
    const changes = orElse(() => [...startedRecords(current), ...lifecycle(current, change)], []);
    const dead = letter(context, { key, id, content, error, work: current });
    await lane.commit({
      records: [...changes, dead.record],
      state: [[STATE_KEYS.walk + String(offset), null]],
      finished: [offset],
      work: current,
    });
    emit({ type: 'request-failed', pipeline, key, request: id, error: { code, message } });
    dead.tell();
    left(current, { code, message });
  };

  return {
    backlog: BACKLOG,
    get load() {
      return active.size + after.load;
    },
    take(record, request) {
      try {
        begin(record, request);
      } catch (error) {
        // keyOf threw: there is no key to speak of.
        active.set(record.offset, 'ending');
        const id = requestId(lane, record.offset);
        const dead = letter(context, { key: record.key || id, id, content: requestContent(record), error });
        lane.commit({ records: [dead.record], finished: [record.offset] }).then(
          () => {
            dead.tell();
            release(record.offset);
          },
          (failure: unknown) => notifier.fail(failure),
        );
      }
    },
    flush: () => undefined,
    stop() {
      isStopping = true;
      source.stop();
      after.stop();
    },
    get isBusy() {
      return active.size > 0 || after.isBusy;
    },
    abandon() {
      for (const one of active.values()) if (one !== 'ending') one.subscription?.unsubscribe();
    },
    inWork: () => ({
      walks: [...active.values()].flatMap((one) => {
        if (one === 'ending') return [];
        const { offset, id, key, state, isWriting, since } = one;
        return [{ offset, request: id, key, page: state.page, walk: one, isWriting, since }];
      }),
      keys: 0,
      behind: after.current,
    }),
    lastCrawl: (_, key) => after.lastCrawl(key),
  };
}

function orElse<Result>(make: () => Result, otherwise: Result): Result {
  try {
    return make();
  } catch {
    return otherwise;
  }
}

function countsOf(pending: readonly PendingRecord[]): Readonly<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name, count } of pending) counts[name] = (counts[name] ?? 0) + count;
  return counts;
}

function endedEarly(pipeline: string, { key, page, from }: WalkState): PipelineError {
  const message =
    from === undefined
      ? `${key}: pages of pipeline ${pipeline} gave no page. Without a last page nothing says that the request is complete. Mend it: give one page at least.`
      : `${key}: pages of pipeline ${pipeline} ended after page ${page - 1}, though checkpoint says that the walk continues after it. ` +
        'Mend one of the two: checkpoint gives undefined or null for the last page.';
  return new PipelineError({ code: 'HEADGATE_DEFINITION', pipeline, key, message });
}

function pageAfterLast(pipeline: string, { key, page }: WalkState): PipelineError {
  const message =
    `${key}: pages of pipeline ${pipeline} gave a page after page ${page}, which checkpoint called the last one: it gave neither where the walk ` +
    'continues, nor did pages end. Mend one of the two: checkpoint gives undefined or null for the last page alone.';
  return new PipelineError({ code: 'HEADGATE_DEFINITION', pipeline, key, message });
}

/** Without the checkpoint: the address of a page may hold a key. */
function cursorLoop(pipeline: string, { key, page }: WalkState): PipelineError {
  const message =
    `${key}: the service sends the walk in circles: the checkpoint after page ${page} is that of an earlier page. ` +
    'The pages so far are kept. Start the walk again later.';
  return new PipelineError({ code: 'HEADGATE_CURSOR_LOOP', retryable: true, pipeline, key, message });
}
