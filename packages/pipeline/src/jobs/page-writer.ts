import type { WalkedPage } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import type { NewRecord, RecordSeries } from '@headgate/topics';
import { reasonOf } from '../topics/dead-letter.ts';
import { type PendingDeadLetter, pendingDeadLetter } from './pending-dead-letter.ts';
import { FROM_START, jobContent } from '../topics/job.ts';
import { type PendingRecord, REQUESTS, type TopicMap, countRecords, logRecords } from '../topics/topic.ts';
import { jobError, userError } from '../topics/user-function.ts';
import type { Contribution, StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { WorkContext } from '../definition/processor.ts';
import { assertRecordSize } from '../lane/record-size.ts';
import type { Reason } from '../events/events.ts';
import { type AfterStage, afterRow } from './after.ts';
import type { HeldPage, HeldParts } from './held-parts.ts';
import type { LastCrawl, LastCrawls } from './last-crawls.ts';
import type { Walk } from './walk-work.ts';
import type { RefusedPart, WalkChange, WalkDefinition, WalkPosition } from './walk-definition.ts';
import { type WalkState, copyOf, failedWalkChange, pageAfter, restNote } from './walk-state.ts';
import type { WalkTransforms } from './walk-transforms.ts';

/** A page as its transaction writes it, with the events to emit when it is durable. */
interface WrittenPage<Cursor extends NonNullable<Json>> {
  readonly contribution: Contribution;
  readonly handed: WalkState<Cursor>;
  readonly events: readonly Parameters<WorkContext<never, TopicMap>['emit']>[0][];
}

/** Writes the pages of a lane's walks, and the dead letters of failed walks. */
export class PageWriter<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap> {
  readonly #definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>;
  readonly #context: WorkContext<Request, Topics>;
  readonly #last: LastCrawls;
  readonly #held: HeldParts;

  constructor(
    definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
    context: WorkContext<Request, Topics>,
    last: LastCrawls,
    held: HeldParts,
  ) {
    this.#definition = definition;
    this.#context = context;
    this.#last = last;
    this.#held = held;
  }

  /** Resolves when the page is durable: its records, its checkpoint and, with the last page, the offset of the finished request. */
  write(walk: Walk<Request, Cursor>, walked: WalkedPage<Page, Cursor>, transforms: WalkTransforms<Page, Value>): Promise<void> {
    // Not asynchronous itself, because a function that waits keeps its arguments: thousands of IDs for each page that is being written.
    return this.#commit(walk, this.#made(walk, walked, transforms));
  }

  async #commit(walk: Walk<Request, Cursor>, { contribution, handed, events }: WrittenPage<Cursor>): Promise<void> {
    walk.handed = handed;
    await this.#context.lane.commit(contribution);
    walk.state = handed;
    for (const event of events) this.#context.emit(event);
  }

  /** Makes of a page what its transaction writes. */

  #made(
    walk: Walk<Request, Cursor>,
    { page, number, next }: WalkedPage<Page, Cursor>,
    transforms: WalkTransforms<Page, Value>,
  ): WrittenPage<Cursor> {
    const definition = this.#definition;
    const { pipeline } = this.#context;
    const { handed: state, key, id, record } = walk;
    const values = transforms.values(page);
    const through = transforms.state();
    const isLast = next === 'last';
    const warnings: string[] = [];
    const deadLetters: PendingDeadLetter[] = [];
    const parts = this.#held.page(walk);
    const at = this.#position(walk, number, parts, warnings, deadLetters);
    const pending = values.flatMap((value) => [...definition.records(value, at)]);
    const released = isLast && walk.isWhole() ? parts.releaseUnseen() : 0;
    if (released > 0)
      warnings.push(
        released === 1
          ? `${key}: 1 record that didn't fit is written now, or wasn't returned again. Its dead letter is closed.`
          : `${key}: ${released} records that didn't fit are written now, or weren't returned again. Their dead letters are closed.`,
      );
    const carried = definition.carry && { ...state.carried, now: this.#carry(walk, page, parts) };
    const items = this.#itemsOf(values, pending);
    const credential = definition.credentialOf?.(page);
    const total = state.items + items;
    const written: WalkState<Cursor> = { ...state, at: isLast ? undefined : next, items: total, through, carried, request: record.value };
    const checkpoint: StateChange = [STATE_KEYS.job + String(record.offset), written];
    const records = [
      ...this.#started(walk),
      ...this.#recordsOf(walk, pending, String(number), `page ${number}`),
      ...deadLetters.map((dead) => dead.record),
      ...(isLast ? this.#lifecycle(walk, { state: 'completed', pages: number, items: total, warnings }) : []),
    ];
    if (!isLast) this.#assertStateSize(walk, checkpoint, `its checkpoint after page ${number}`);
    else if (carried?.now !== undefined)
      this.#assertStateSize(
        walk,
        this.#lastRow(key, { pages: number, items: total, carried: carried.now }),
        `the value that page ${number} carries over`,
      );
    // Call this after the definition's functions, which can throw, because `#ended` remembers the walk as complete.
    const { changes, stage } = isLast
      ? this.#ended(walk, { pages: number, items: total, carried: carried?.now })
      : { changes: [checkpoint] };
    const continued = isLast && walk.isForAll() ? failedWalkChange(this.#context, key, undefined) : [];
    // The next page builds on this one before this one is durable. If this one's commit fails, so do all later ones of the lane.
    parts.apply();
    const subject = { pipeline, key, request: id };
    return {
      contribution: {
        records,
        state: [...changes, ...continued, ...parts.changes, ...(stage === undefined ? [] : [afterRow(record, stage)])],
        finished: isLast && stage === undefined ? [record.offset] : [],
        work: walk,
      },
      handed: { ...written, after: stage },
      events: [
        { type: 'page-written', ...subject, page: number, items, last: isLast, ...(credential !== undefined && { credential }) },
        { type: 'records-written', pipeline, kind: 'walk', counts: countRecords(pending) },
        ...deadLetters.map(({ event }) => event),
        ...warnings.map((message) => ({ type: 'notice', level: 'warn', message }) as const),
        ...(isLast ? [{ type: 'request-completed', ...subject, pages: number, items: total } as const] : []),
      ],
    };
  }

  /** Resolves with the reason when the dead letter of the walk is durable. */
  async writeFailed(walk: Walk<Request, Cursor>, thrown: unknown): Promise<Reason> {
    const { pipeline, lane, emit } = this.#context;
    const { state, key, id, record } = walk;
    const isUnexpected = reasonOf(thrown).code === 'HEADGATE_UNEXPECTED';
    const error = jobError(isUnexpected ? userError({ pipeline, name: 'source' }, thrown) : thrown, key);
    const { code, message } = reasonOf(error);
    const reason: Reason = { code, message };
    const failed: WalkChange = { state: 'failed', pages: pageAfter(state.at) - 1, items: state.items, reason };
    const note = restNote(state);
    const isCarried = this.#definition.carry !== undefined && orElse(false, () => walk.isForAll());
    // If the service refuses the page at which a failed walk continued, its cursor has probably expired: the next walk starts over.
    const kept = walk.isRefused && state.isRest === true && pageAfter(state.at) === 1 ? undefined : note;
    const start = record.resume === FROM_START ? FROM_START : undefined;
    const resume = note === undefined ? start : JSON.stringify(isCarried ? { cursor: note.cursor, of: id } : note);
    const dead = pendingDeadLetter(this.#context, { key, id, content: jobContent(record), error, resume, work: walk });
    await lane.commit({
      // The walk has already failed, so a second error is ignored.
      records: [...orElse([], () => [...this.#started(walk), ...this.#lifecycle(walk, failed)]), dead.record],
      state: isCarried ? failedWalkChange(this.#context, key, kept && { ...kept, of: id }) : [],
      finished: [record.offset],
      work: walk,
    });
    emit({ type: 'request-failed', pipeline, key, request: id, error: reason });
    emit(dead.event);
    return reason;
  }

  /** Returns the position for `records`, which can add to the parts, warnings and dead letters of the page. */
  #position(
    walk: Walk<Request, Cursor>,
    page: number,
    parts: HeldPage,
    warnings: string[],
    deadLetters: PendingDeadLetter[],
  ): WalkPosition<Request, Topics> {
    const { request, key, id, handed: state, record } = walk;
    return {
      request,
      key,
      id,
      page,
      carried: state.carried?.before,
      carrying: state.carried?.now,
      topics: this.#context.topics,
      warn: (message: string): void => void warnings.push(message),
      isHeld: (part: string): boolean => parts.has(part),
      refuse: ({ id: part, record: refused, error, held: value }: RefusedPart): void => {
        const mark = value === undefined ? undefined : parts.hold(part, copyOf(value));
        if (value !== undefined && mark === undefined) return;
        const content = { ...jobContent(record), record: refused };
        deadLetters.push(pendingDeadLetter(this.#context, { key, id: `${id}/${part}`, content, error, held: mark, work: walk }));
      },
    };
  }

  #carry({ handed: { carried }, request, key }: Walk<Request, Cursor>, page: Page, parts: HeldPage): Json | undefined {
    return this.#definition.carry?.(page, copyOf(carried?.now), { request, key, before: carried?.before, held: parts.values() });
  }

  #itemsOf(values: readonly Value[], pending: readonly PendingRecord[]): number {
    const definition = this.#definition;
    if (definition.items === undefined) return pending.reduce((sum, { name, count }) => (name === REQUESTS ? sum : sum + count), 0);
    return values.reduce((sum, value) => sum + (definition.items?.(value) ?? 0), 0);
  }

  /** Returns the records of the state `started` for the walk's first transaction, and none if a page was written before. */
  #started(walk: Walk<Request, Cursor>) {
    return pageAfter(walk.handed.at) === 1 ? this.#lifecycle(walk, { state: 'started', pages: 0, items: 0 }) : [];
  }

  #lifecycle(walk: Walk<Request, Cursor>, change: WalkChange) {
    const { key, request, id } = walk;
    const pending = [...(this.#definition.lifecycle?.(change, { request, key, id, topics: this.#context.topics }) ?? [])];
    return this.#recordsOf(walk, pending, change.state, `the record of its state "${change.state}"`);
  }

  #recordsOf(
    walk: Walk<Request, Cursor>,
    pending: readonly PendingRecord[],
    defaultId: string,
    which: string,
  ): readonly (NewRecord | RecordSeries)[] {
    const { pipeline, lane, tracing } = this.#context;
    const { key, id, record } = walk;
    return assertRecordSize(logRecords(pending, pipeline, id, defaultId, record, tracing?.headers(walk)), { pipeline, key, lane, which });
  }

  /** Throws if a value for the lane's state is too large. */
  #assertStateSize({ key }: Walk<Request, Cursor>, change: StateChange, which: string): void {
    const { pipeline, lane } = this.#context;
    assertRecordSize([lane.stateRecord(change)], { pipeline, key, lane, which });
  }

  #lastRow(key: string, crawl: LastCrawl): StateChange {
    return [STATE_KEYS.last + this.#context.kind + key, crawl];
  }

  /** Notes that a walk is complete. Returns the changes of the lane's state, and the work that follows, if any. */
  #ended(
    walk: Walk<Request, Cursor>,
    { carried, ...size }: Pick<LastCrawl, 'pages' | 'items' | 'carried'>,
  ): { readonly changes: readonly StateChange[]; readonly stage?: AfterStage } {
    const { key, id, state } = walk;
    const before = this.#last.of(key);
    // The carried value counts if the walk and the failed walk that it continues are for all pages together.
    if (state.isRest === true && walk.isForAll() && carried !== undefined)
      return { changes: [this.#last.ended(key, { ...(before ?? size), carried })] };
    if (!walk.isWhole()) return { changes: [] };
    const crawl = state.offsets && { id, ...size, offsets: state.offsets };
    const changes = [this.#last.ended(key, { ...size, crawl: crawl ?? before?.crawl, carried })];
    if (crawl === undefined || this.#definition.after === undefined) return { changes };
    const previous = before?.crawl && { key, ...before.crawl };
    return { changes, stage: { crawl: { key, ...crawl }, ...(previous !== undefined && { previous }), written: 0 } };
  }
}

function orElse<Result>(fallback: Result, make: () => Result): Result {
  try {
    return make();
  } catch {
    return fallback;
  }
}
