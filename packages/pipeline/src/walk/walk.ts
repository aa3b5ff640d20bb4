import { type Checkpoint, type Paging, type QueryOptions, type WalkedPage, walkPages } from '@headgate/sources';
import type { Delivery, Json, Transform } from '@headgate/throttle';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import { type Subscription, defer, mergeMap } from 'rxjs';
import { endsLane, endsSource, isStop } from '../engine/source-error.ts';
import { textOf } from '../definition/thrown.ts';
import { callUser, callUserList, misuse, userError } from '../definition/user-function.ts';
import { STATE_KEYS } from '../engine/lane-state.ts';
import { PipelineError } from '../definition/pipeline-error.ts';
import { RESUME, type RequestRecord, requestContent } from '../definition/request.ts';
import { reasonOf } from '../dead-letters/dead-letter.ts';
import type { Reason } from '../view/events.ts';
import { type PendingRecord, REQUESTS, type RecordMakers, type TopicMap, logRecords, pendingRecords } from '../definition/topic.ts';
import type { SourceControls, StateOfLane, Processor, Worker, WorkerContext } from '../engine/processor.ts';
import { type After, afterWork, lastCrawls } from './after.ts';
import { assertRecordSize } from '../engine/record-size.ts';
import { type Letter, letter, requestId } from '../dead-letters/letters.ts';

/** A source of pages: what `defineSource` makes, or anything else with its controls and its `query`. */
export interface WalkedSource<Query, Page> extends SourceControls {
  /** Requests a page under credit, as `Source.query` of `@headgate/sources`. */
  query(query: Query, options: QueryOptions): Promise<Delivery<Page>>;
}

/** Options of {@link walk}. */
export interface WalkDefinition<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap> {
  /** The source that is walked. The lane closes it. */
  readonly source: WalkedSource<Query, Page>;
  /** How a request's walk gets from page to page. Called whenever the walk begins or continues. */
  paging(request: Request, start: { readonly carried: Json | undefined }): Paging<Query, Page, Cursor>;
  /** Transforms between pages and records. Their state goes into the checkpoint by itself. */
  readonly through?: readonly Transform<Page, Page>[] | readonly [Transform<Page, Value>];
  /** The records of a page, written in one transaction with its checkpoint. */
  records(value: Value, at: WalkPosition<Request, Topics>): Iterable<PendingRecord>;
  /**
   * Makes the next walk of a key an incremental one: called for each page with the value it gave before, first with the one of the key's last
   * complete walk. Its last value is in the transaction of the walk's last page, and `paging` of the next walk gets it as `carried`, for
   * 90 days: the newest time of change, for one. A walk that fails carries nothing on. Walks of one key take turns.
   */
  carry?(page: Page, carried: Json | undefined): Json | undefined;
  /** Items of a page, for counts and displays. Default: its records. */
  items?(value: Value): number;
  /** Name of the credential of a page's request, for displays. */
  credentialOf?(page: Page): string;
  /** Records of a walk's change of state: in its first transaction, its last one, and that of its dead letter. */
  lifecycle?(change: WalkChange, at: Omit<WalkPosition<Request, Topics>, 'page' | 'carried' | 'warn' | 'refuse'>): Iterable<PendingRecord>;
  /** How a page's records are made smaller, for the dead letter of one that its topic doesn't take: `take smaller pages`. */
  readonly smallerBy?: string;
  /** True for a request of all pages. Default: every request. `plan` and `after` don't compare a walk of some pages with others. */
  whole?(request: Request): boolean;
  /** Work behind a whole walk that has completed, such as comparing it with the one before. */
  readonly after?: After<NoInfer<Topics>>;
  /** Name of that work, for notices: `the comparison of its last two crawls`. Default `the work behind its walk`. */
  readonly afterName?: string;
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
  /** What the last complete walk of the key has carried, as `paging` got it: for all pages of this walk the same. */
  readonly carried: Json | undefined;
  /** Makes records: `topics.records({ key, value })`. */
  readonly topics: RecordMakers<Topics>;
  /** Emits a warning about the page once it is durable. */
  readonly warn: (message: string) => void;
  /** Makes a dead letter of a part of the page that can't be processed, in the page's transaction: the walk continues. */
  readonly refuse: (part: RefusedPart) => void;
}

/** A part of a page that can't be processed. */
export interface RefusedPart {
  /** Unique within its request, and the same when the page is requested again. */
  readonly id: string;
  /** JSON, as the service gave it. */
  readonly record: unknown;
  /** Its code and message stand in the dead letter. */
  readonly error: unknown;
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
interface WalkState<Cursor extends NonNullable<Json>> {
  readonly key: string;
  /** Undefined before the first page. */
  readonly at?: Checkpoint<Cursor> | undefined;
  readonly items: number;
  /** The states of transforms, by name. */
  readonly through?: Readonly<Record<string, Json>> | undefined;
  /** Values of `carry`: of the walk before, and of the pages of this one. */
  readonly carried?: { readonly before?: Json | undefined; readonly now?: Json | undefined } | undefined;
  /** By topic: no record of the walk lies before this offset. Kept where there is work behind the walk. */
  readonly offsets?: Readonly<Record<string, number>> | undefined;
  /** The walk began where the one of a dead letter had failed. */
  readonly isRest?: true | undefined;
  /** The request's own text: its topic may not hold it as long as the walk takes. */
  readonly request: string | null;
}

interface Walk<Request, Cursor extends NonNullable<Json>> {
  readonly offset: number;
  readonly id: string;
  readonly key: string;
  readonly request: Request;
  readonly record: RequestRecord;
  state: WalkState<Cursor>;
  isWriting: boolean;
  /** Epoch ms at which the request for its next page began. */
  since: number;
  subscription?: Subscription;
}

/** A request that was taken, and where its walk begins if another one has left it midway. */
interface Job<Request, Cursor extends NonNullable<Json>> {
  readonly record: RequestRecord;
  readonly request: Request;
  readonly key: string;
  readonly rest: Pick<WalkState<Cursor>, 'at' | 'through' | 'carried' | 'isRest'> | undefined;
}

/** Requests that a lane has in flight before the rest is left in the topic. */
export const MAX_IN_WORK = 500;

/**
 * Works requests that are walks: one request, many pages. A page's records, its checkpoint, the transforms' state and the budget's journal
 * are one transaction. All requests taken are walked at once, and the budget's queue lets them take turns.
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
  return {
    sources: [definition.source],
    open: (context) => walker(definition, context),
    left(state, pipeline) {
      const states = walkStates(state);
      return (record, request) => {
        const saved = states.get(record.offset);
        const { at, isRest } = (saved?.at === undefined ? rest(record) : saved) ?? {};
        const whole = isRest !== true && (callUser({ pipeline, name: 'whole' }, () => definition.whole?.(request)) ?? true);
        return { kind: 'walk', page: pageAfter(at), from: at?.cursor, whole };
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

/** A walk whose state an earlier version wrote begins again: it has another form. */
function walkStates<Cursor extends NonNullable<Json>>(state: StateOfLane): ReadonlyMap<number, WalkState<Cursor>> {
  return new Map(state(STATE_KEYS.walk).map(({ key, value }) => [Number(key), value as WalkState<Cursor>]));
}

/** Number of the page at a checkpoint. */
function pageAfter({ pages = 0 }: { readonly pages?: number } = {}): number {
  return pages + 1;
}

function walker<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap>(
  definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
  context: WorkerContext<Request, Topics>,
): Worker<Request> {
  type Walking = Walk<Request, Cursor>;
  const { pipeline, lane, notifier, emit, credits, topics, tracing } = context;
  const { source, through = [] } = definition;
  const kept = walkStates<Cursor>(lane.stateUnder);
  const active = new Map<number, Walking | 'ending' | 'waiting'>();
  /** By the key of a walk that carries something: the jobs that begin after it, one by one, each with what the one before has carried. */
  const waiting = new Map<string, Job<Request, Cursor>[]>();
  const isWhole = ({ request, key, state }: Pick<Walking, 'request' | 'key' | 'state'>): boolean =>
    state.isRest !== true && (callUser({ pipeline, key, name: 'whole' }, () => definition.whole?.(request)) ?? true);
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
  const left = (current: Walking, error?: Reason): void => {
    tracing?.end(current, error);
    startNext(current.key);
    release(current.offset);
  };

  const startNext = (key: string): void => {
    const jobs = waiting.get(key) ?? [];
    const next = isStopping || laneFailed ? undefined : jobs.shift();
    if (next !== undefined) {
      begin(next);
      return;
    }
    waiting.delete(key);
    for (const { record } of jobs) active.delete(record.offset);
  };

  /** Two walks of one key at a time would begin with the same carried value, and write the same records. */
  const admit = (record: RequestRecord, request: Request): void => {
    const { offset } = record;
    const key = kept.get(offset)?.key ?? context.keyOf(request, record.key || requestId(lane, offset));
    const job: Job<Request, Cursor> = { record, request, key, rest: rest(record) };
    const before = waiting.get(key);
    if (before === undefined) {
      if (definition.carry !== undefined) waiting.set(key, []);
      begin(job);
    } else {
      active.set(offset, 'waiting');
      before.push(job);
    }
  };

  const begin = ({ record, request, key, rest: resumed }: Job<Request, Cursor>): void => {
    const { offset } = record;
    const saved = kept.get(offset);
    const begun = saved?.at === undefined ? undefined : saved;
    const state = begun ?? { key, items: 0, request: saved?.request ?? record.value, ...carriedBefore(key), ...resumed };
    const current: Walking = {
      offset,
      id: requestId(lane, offset),
      key,
      request,
      record,
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
      page: pageAfter(state.at),
      items: state.items,
      resumed: begun !== undefined,
    });
    tracing?.begin(current, { pipeline, lane: lane.partition, key, request: current.id, page: pageAfter(state.at) });
    current.subscription = defer(async () => await offsetsOf(current))
      .pipe(mergeMap((offsets) => pagesOf(current, offsets)))
      .subscribe({ error: (error: unknown) => stopWalk(current, error), complete: () => left(current) });
  };

  const carriedBefore = (key: string): Pick<WalkState<Cursor>, 'carried'> => {
    const before = definition.carry && after.carried(key);
    return before === undefined ? {} : { carried: { before, now: before } };
  };

  /** Where a walk's records will begin, for the work behind it; undefined where that can't be known. */
  const offsetsOf = async (current: Walking): Promise<WalkState<Cursor>['offsets']> => {
    if (definition.after === undefined) return undefined;
    if (pageAfter(current.state.at) > 1) return current.state.offsets;
    return isWhole(current) ? await after.offsets() : undefined;
  };

  // The grant for the next page is in the transaction of this one, and its request is sent after that: a crash repeats one page at most.
  // So nothing may be waited for between a page and its commit.
  const pagesOf = (current: Walking, offsets: WalkState<Cursor>['offsets']) => {
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
    const remembered = (): WalkState<Cursor>['through'] => {
      const states = transforms.map(({ name: of, opened }) => [of, callUser(name(`transform ${of}`), () => opened.state?.())] as const);
      const some = states.filter(([, value]) => value !== undefined);
      return some.length === 0 ? undefined : (Object.fromEntries(some) as Record<string, Json>);
    };
    const paging = callUser(name('paging'), () => definition.paging(request, { carried: state.carried?.before }));
    if (typeof paging?.query !== 'function' || typeof paging.next !== 'function')
      throw misuse(name('paging'), `returns ${textOf(paging)}`, 'It must return a paging: first, query and next');
    const pages = walkPages({
      paging,
      from: state.at,
      query: async (query, reading) => await source.query(query, reading),
      service: pipeline,
      subject: () => key,
      call: (of, call) => callUser(name(`${of} of paging`), call),
      misuse: (of, what, why) => misuse(name(`${of} of paging`), what, why),
    });
    return pages.drain(
      (walked) => defer(() => write(current, walked, { values: transformed(walked.page), through: remembered(), offsets })),
      { credits, readAhead: 1, walk: current },
    );
  };

  const write = async (
    current: Walking,
    { page, number, next }: WalkedPage<Page, Cursor>,
    { values, through: remembered, offsets }: { values: Value[] } & Pick<WalkState<Cursor>, 'through' | 'offsets'>,
  ): Promise<void> => {
    const { state, key, id, offset, request } = current;
    const isLast = next === 'last';
    const warnings: string[] = [];
    const warn = (message: string): void => void warnings.push(message);
    const letters: Letter[] = [];
    const refuse = ({ id: part, record, error }: RefusedPart): void =>
      void letters.push(letter(context, { key, id: `${id}/${part}`, content: { record }, error, work: current }));
    const before = state.carried?.before;
    const at: WalkPosition<Request, Topics> = { request, key, id, page: number, carried: before, topics, warn, refuse };
    const name = (of: string) => ({ pipeline, key, name: of });
    const pending = values.flatMap((value) => pendingRecords(name('records'), context, () => definition.records(value, at)));
    const carried = definition.carry && {
      ...state.carried,
      now: callUser(name('carry'), () => definition.carry?.(page, state.carried?.now)),
    };
    const items = itemsOf(current, values, pending);
    const credential = callUser(name('credentialOf'), () => definition.credentialOf?.(page));
    const total = state.items + items;
    const records = [
      ...startedRecords(current),
      ...fittingPage(at, logRecords(pending, { pipeline, request: id, defaultId: String(number), headers: tracing?.headers(current) })),
      ...letters.map(({ record }) => record),
      ...(isLast ? lifecycle(current, { state: 'completed', pages: number, items: total }) : []),
    ];
    const written: WalkState<Cursor> = {
      key,
      at: isLast ? undefined : next,
      items: total,
      through: remembered,
      carried,
      offsets,
      isRest: state.isRest,
      request: current.record.value,
    };
    if (!isLast) fittingCheckpoint(offset, written, number);
    if (isLast && carried?.now !== undefined) fittingCarried(written, number);
    // Behind all that may throw: it remembers the walk as complete.
    const ending = isLast
      ? after.ending({ key, id, pages: number, items: total, whole: isWhole(current), offsets, carried: carried?.now })
      : undefined;
    current.isWriting = true;
    await lane.commit({
      records,
      state: [[STATE_KEYS.walk + String(offset), isLast ? null : written], ...(ending?.state ?? [])],
      finished: isLast ? [offset] : [],
      work: current,
    });
    current.state = written;
    current.isWriting = false;
    current.since = context.clock.epochMs();
    emit({
      type: 'page-written',
      pipeline,
      key,
      request: id,
      page: number,
      items,
      last: isLast,
      ...(credential !== undefined && { credential }),
    });
    emit({ type: 'records-written', pipeline, kind: 'walk', counts: countsOf(pending) });
    for (const { tell } of letters) tell();
    for (const message of warnings) emit({ type: 'notice', level: 'warn', message });
    if (isLast) emit({ type: 'request-completed', pipeline, key, request: id, pages: number, items: total });
    ending?.start();
  };

  const itemsOf = ({ key }: Walking, values: readonly Value[], pending: readonly PendingRecord[]): number => {
    if (definition.items === undefined) return pending.reduce((sum, one) => (one.name === REQUESTS ? sum : sum + one.count), 0);
    const name = { pipeline, key, name: 'items' };
    return values.reduce((sum, value) => {
      const items = callUser(name, () => definition.items?.(value)) ?? 0;
      if (!(Number.isSafeInteger(items) && items >= 0))
        throw misuse(name, `returns ${textOf(items)}`, 'It must return a whole number from 0');
      return sum + items;
    }, 0);
  };

  const fittingPage = ({ key, page }: WalkPosition<Request, Topics>, records: readonly (NewRecord | RecordSeries)[]) =>
    assertRecordSize(records, { pipeline, key, lane, name: 'records', which: `page ${page}`, orElse: definition.smallerBy });

  const fittingCheckpoint = (offset: number, written: WalkState<Cursor>, page: number): void => {
    const { key } = written;
    const record = callUser({ pipeline, key, name: 'paging' }, () => lane.stateRecord([STATE_KEYS.walk + String(offset), written]));
    assertRecordSize([record], { pipeline, key, lane, name: 'paging', which: `its checkpoint after page ${page}` });
  };

  /** As its last walk's, in the state of its key. */
  const fittingCarried = ({ key, carried, items }: WalkState<Cursor>, page: number): void => {
    const value = { pages: page, items, carried: carried?.now };
    const record = callUser({ pipeline, key, name: 'carry' }, () => lane.stateRecord([STATE_KEYS.last + context.kind + key, value]));
    assertRecordSize([record], { pipeline, key, lane, name: 'carry', which: `the value that page ${page} carries on` });
  };

  /** A walk's first transaction says that it was started; a resumed one has said so. */
  const startedRecords = (current: Walking) =>
    pageAfter(current.state.at) === 1 ? lifecycle(current, { state: 'started', pages: 0, items: 0 }) : [];

  const lifecycle = (current: Walking, change: WalkChange) => {
    const { key, request, id } = current;
    const pending = pendingRecords({ pipeline, key, name: 'lifecycle' }, context, () =>
      definition.lifecycle?.(change, { request, key, id, topics }),
    );
    const records = logRecords(pending, { pipeline, request: id, defaultId: change.state, headers: tracing?.headers(current) });
    return assertRecordSize(records, { pipeline, key, lane, name: 'lifecycle', which: `the record of its state "${change.state}"` });
  };

  const stopWalk = (current: Walking, error: unknown): void => {
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

  const failWalk = async (current: Walking, thrown: unknown): Promise<void> => {
    const { state, key, id, offset, record } = current;
    const error = reasonOf(thrown).code === 'HEADGATE_UNEXPECTED' ? userError({ pipeline, key, name: 'source' }, thrown) : thrown;
    const { code, message } = reasonOf(error);
    const change: WalkChange = { state: 'failed', pages: pageAfter(state.at) - 1, items: state.items, reason: { code, message } };
    // The walk has failed already: a second error of its definition changes nothing.
    const changes = orElse(() => [...startedRecords(current), ...lifecycle(current, change)], []);
    const dead = letter(context, { key, id, content: requestContent(record), error, resume: restNote(state), work: current });
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
    backlog: MAX_IN_WORK,
    get load() {
      return active.size + after.load;
    },
    take(record, request) {
      try {
        admit(record, request);
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
      for (const one of active.values()) if (typeof one !== 'string') one.subscription?.unsubscribe();
    },
    inWork: () => ({
      walks: [...active.values()].flatMap((one) => {
        if (typeof one === 'string') return [];
        const { offset, id, key, state, isWriting, since } = one;
        return [{ offset, request: id, key, page: pageAfter(state.at), walk: one, isWriting, since }];
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

/** What a dead letter keeps of a walk, so that its replay continues there: it is a walk of its own, whose pages count from 1. */
interface RestNote<Cursor extends NonNullable<Json>> extends Pick<WalkState<Cursor>, 'through' | 'carried'> {
  readonly cursor: Cursor;
}

/** Undefined for a walk without a page, and for one in a circle: there is no way on from inside. */
function restNote<Cursor extends NonNullable<Json>>({ at, through, carried }: WalkState<Cursor>): string | undefined {
  if (at === undefined || at.isCircle === true) return undefined;
  const note: RestNote<Cursor> = { cursor: at.cursor, through, carried };
  return JSON.stringify(note);
}

/** The state of a walk whose request a dead letter's replay has put back. Throws a `PipelineError` for a note that no walk has written. */
function rest<Cursor extends NonNullable<Json>>({
  resume,
}: Pick<RequestRecord, 'resume'>): Pick<WalkState<Cursor>, 'at' | 'through' | 'carried' | 'isRest'> | undefined {
  if (resume === undefined) return undefined;
  try {
    const { cursor, ...states } = JSON.parse(resume) as RestNote<Cursor>;
    if (cursor === null || cursor === undefined) throw new TypeError('it has no cursor');
    return { ...states, at: { cursor }, isRest: true };
  } catch (cause) {
    const message = `The job's header ${RESUME} wasn't written by replay: ${textOf(cause)}. Add the job again without it.`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, cause });
  }
}
