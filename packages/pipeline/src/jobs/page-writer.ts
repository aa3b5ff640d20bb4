import type { WalkedPage } from '@headgate/sources';
import type { Json } from '@headgate/throttle';
import { reasonOf } from '../topics/dead-letter.ts';
import { pendingDeadLetter } from './pending-dead-letter.ts';
import { FROM_START, requestContent } from '../topics/request.ts';
import { textOf } from '../settings/thrown.ts';
import { type PendingRecord, REQUESTS, type TopicMap, countRecords, pendingRecords } from '../topics/topic.ts';
import { misuse, userError } from '../topics/user-function.ts';
import type { StateChange } from '../lane/lane.ts';
import { STATE_KEYS } from '../lane/lane-state.ts';
import type { WorkContext } from '../definition/processor.ts';
import { assertRecordSize, sizedRecords } from '../lane/record-size.ts';
import type { Reason } from '../events/events.ts';
import { type AfterStage, afterRow } from './after.ts';
import type { FailedWalks } from './failed-walks.ts';
import type { HeldParts } from './held-parts.ts';
import type { LastCrawl, LastCrawls } from './last-crawls.ts';
import type { Walk } from './walk-work.ts';
import type { RefusedPart, WalkChange, WalkDefinition } from './walk-definition.ts';
import { type WalkState, copyOf, pageAfter, restNote } from './walk-state.ts';
import type { WalkTransforms } from './walk-transforms.ts';

/** Writes the pages of a lane's walks, and the dead letters of failed walks. */
export interface PageWriter<Page, Value, Request, Cursor extends NonNullable<Json>> {
  /** Resolves when the page is durable: its records, its checkpoint and, with the last page, the offset of the finished request. */
  write(walk: Walk<Request, Cursor>, page: WalkedPage<Page, Cursor>, transforms: WalkTransforms<Page, Value>): Promise<void>;
  /** Resolves with the reason when the dead letter of the walk is durable. */
  writeFailed(walk: Walk<Request, Cursor>, error: unknown): Promise<Reason>;
}

export function pageWriter<Query, Page, Cursor extends NonNullable<Json>, Request, Value, Topics extends TopicMap>(
  definition: WalkDefinition<Query, Page, Cursor, Request, Value, Topics>,
  context: WorkContext<Request, Topics>,
  last: LastCrawls,
  failures: FailedWalks<Cursor>,
  held: HeldParts,
): PageWriter<Page, Value, Request, Cursor> {
  type Walking = Walk<Request, Cursor>;
  const { pipeline, lane, emit, topics, tracing } = context;

  const itemsOf = ({ key, call }: Walking, values: readonly Value[], pending: readonly PendingRecord[]): number => {
    if (definition.items === undefined) return pending.reduce((sum, { name, count }) => (name === REQUESTS ? sum : sum + count), 0);
    return values.reduce((sum, value) => {
      const items = call('items', () => definition.items?.(value)) ?? 0;
      if (!(Number.isSafeInteger(items) && items >= 0))
        throw misuse({ pipeline, key, name: 'items' }, `returns ${textOf(items)}`, 'It must return a whole number from 0');
      return sum + items;
    }, 0);
  };

  /** Throws if a value for the lane's state is too large. `name`: the function of the definition that returned it. */
  const assertStateSize = ({ key, call }: Walking, change: StateChange, name: string, which: string): void => {
    assertRecordSize([call(name, () => lane.stateRecord(change))], { pipeline, key, lane, name, which });
  };

  const lifecycle = (walk: Walking, change: WalkChange) => {
    const { key, request, id } = walk;
    const of = { pipeline, key, name: 'lifecycle' };
    const pending = pendingRecords(of, context, () => definition.lifecycle?.(change, { request, key, id, topics }));
    const which = `the record of its state "${change.state}"`;
    return sizedRecords(pending, {
      ...of,
      request: id,
      defaultId: change.state,
      origin: walk.record,
      headers: tracing?.headers(walk),
      lane,
      which,
    });
  };

  /** Returns the records of the state `started` for the walk's first transaction, and none if a page was written before. */
  const started = (walk: Walking) => (pageAfter(walk.state.at) === 1 ? lifecycle(walk, { state: 'started', pages: 0, items: 0 }) : []);

  /** Notes that a walk is complete. Returns the changes of the lane's state, and the work that follows, if any. */
  const ended = (
    walk: Walking,
    { carried, ...size }: Pick<LastCrawl, 'pages' | 'items' | 'carried'>,
  ): { readonly changes: readonly StateChange[]; readonly stage?: AfterStage } => {
    const { key, id, state } = walk;
    const before = last.of(key);
    // The carried value counts if the walk and the failed walk that it continues are for all pages together.
    if (state.isRest === true && walk.isForAll() && carried !== undefined)
      return { changes: [last.ended(key, { ...(before ?? size), carried })] };
    if (!walk.isWhole()) return { changes: [] };
    const crawl = state.offsets && { id, ...size, offsets: state.offsets };
    const changes = [last.ended(key, { ...size, crawl: crawl ?? before?.crawl, carried })];
    if (crawl === undefined || definition.after === undefined) return { changes };
    const previous = before?.crawl && { key, ...before.crawl };
    return { changes, stage: { crawl: { key, ...crawl }, ...(previous !== undefined && { previous }), written: 0 } };
  };

  return {
    async write(walk, { page, number, next }, transforms) {
      const { state, key, id, request, record, call } = walk;
      const { offset } = record;
      const values = transforms.values(page);
      const through = transforms.state();
      const isLast = next === 'last';
      const warnings: string[] = [];
      const parts = held.page(walk);
      const deadLetters: ReturnType<typeof pendingDeadLetter>[] = [];
      const at = {
        request,
        key,
        id,
        page: number,
        carried: state.carried?.before,
        carrying: state.carried?.now,
        topics,
        warn: (message: string): void => void warnings.push(message),
        isHeld: (part: string): boolean => parts.has(part),
        refuse({ id: part, record: refused, error, held: value }: RefusedPart): void {
          const mark = value === undefined ? undefined : parts.hold(part, value);
          if (value !== undefined && mark === undefined) return;
          const content = { ...requestContent(record), record: refused };
          deadLetters.push(pendingDeadLetter(context, { key, id: `${id}/${part}`, content, error, held: mark, work: walk }));
        },
      };
      const of = { pipeline, key, name: 'records' };
      const pending = values.flatMap((value) => pendingRecords(of, context, () => definition.records(value, at)));
      const released = isLast && walk.isWhole() ? parts.releaseUnseen() : 0;
      if (released > 0)
        warnings.push(
          `${key}: ${released} records that didn't fit are written now, or weren't returned again. Their dead letters are closed.`,
        );
      const carried = definition.carry && {
        ...state.carried,
        now: call('carry', () =>
          definition.carry?.(page, copyOf(state.carried?.now), { request, key, before: state.carried?.before, held: parts.values() }),
        ),
      };
      const items = itemsOf(walk, values, pending);
      const credential = call('credentialOf', () => definition.credentialOf?.(page));
      const total = state.items + items;
      const sized = { ...of, request: id, defaultId: String(number), origin: record, headers: tracing?.headers(walk), lane };
      const written: WalkState<Cursor> = { ...state, at: isLast ? undefined : next, items: total, through, carried, request: record.value };
      const checkpoint: StateChange = [STATE_KEYS.job + String(offset), written];
      const records = [
        ...started(walk),
        ...sizedRecords(pending, { ...sized, which: `page ${number}`, orElse: definition.smallerBy }),
        ...deadLetters.map((dead) => dead.record),
        ...(isLast ? lifecycle(walk, { state: 'completed', pages: number, items: total, warnings }) : []),
      ];
      if (!isLast) assertStateSize(walk, checkpoint, 'paging', `its checkpoint after page ${number}`);
      else if (carried?.now !== undefined) {
        const carrying = { pages: number, items: total, carried: carried.now };
        assertStateSize(walk, [STATE_KEYS.last + context.kind + key, carrying], 'carry', `the value that page ${number} carries over`);
      }
      // Call this after the definition's functions, which can throw, because `ended` remembers the walk as complete.
      const { changes, stage } = isLast ? ended(walk, { pages: number, items: total, carried: carried?.now }) : { changes: [checkpoint] };
      const continued = isLast && walk.isForAll() ? failures.failed(key, undefined) : [];
      walk.isWriting = true;
      await lane.commit({
        records,
        state: [...changes, ...continued, ...parts.changes, ...(stage === undefined ? [] : [afterRow(record, stage)])],
        finished: isLast && stage === undefined ? [offset] : [],
        work: walk,
      });
      parts.apply();
      walk.state = { ...written, after: stage };
      walk.isWriting = false;
      const subject = { pipeline, key, request: id };
      emit({ type: 'page-written', ...subject, page: number, items, last: isLast, ...(credential !== undefined && { credential }) });
      emit({ type: 'records-written', pipeline, kind: 'walk', counts: countRecords(pending) });
      for (const dead of deadLetters) dead.emit();
      for (const message of warnings) emit({ type: 'notice', level: 'warn', message });
      if (isLast) emit({ type: 'request-completed', ...subject, pages: number, items: total });
    },

    async writeFailed(walk, thrown) {
      const { state, key, id, record } = walk;
      const error = reasonOf(thrown).code === 'HEADGATE_UNEXPECTED' ? userError({ pipeline, key, name: 'source' }, thrown) : thrown;
      const { code, message } = reasonOf(error);
      const reason: Reason = { code, message };
      const failed: WalkChange = { state: 'failed', pages: pageAfter(state.at) - 1, items: state.items, reason };
      const note = restNote(state);
      const isCarried = definition.carry !== undefined && orNone(() => (walk.isForAll() ? [true] : [])).length > 0;
      // If the service refuses the page at which a failed walk continued, its cursor has probably expired: the next walk starts over.
      const kept = walk.isRefused && state.isRest === true && pageAfter(state.at) === 1 ? undefined : note;
      const start = record.resume === FROM_START ? FROM_START : undefined;
      const resume = note === undefined ? start : JSON.stringify(isCarried ? { cursor: note.cursor, of: id } : note);
      const dead = pendingDeadLetter(context, { key, id, content: requestContent(record), error, resume, work: walk });
      await lane.commit({
        records: [...orNone(() => [...started(walk), ...lifecycle(walk, failed)]), dead.record],
        state: isCarried ? failures.failed(key, kept && { ...kept, of: id }) : [],
        finished: [record.offset],
        work: walk,
      });
      emit({ type: 'request-failed', pipeline, key, request: id, error: reason });
      dead.emit();
      return reason;
    },
  };
}

/** Returns the records, or none if creating them throws. The walk has already failed, so the second error is ignored. */
function orNone<Item>(make: () => readonly Item[]): readonly Item[] {
  try {
    return make();
  } catch {
    return [];
  }
}
