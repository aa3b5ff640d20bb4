import { normalizeIsbn } from '@headgate/operators';
import type { BookAnswer, Books } from '@headgate/sources/books';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { NewRecord, TopicRecord } from '@headgate/topics';
import type { Bell } from '../lanes/bell.ts';
import type { Lane } from '../lanes/lane.ts';
import { type OffsetRanges, type OffsetRangesSnapshot, offsetRanges } from '../lanes/offset-ranges.ts';
import { settled } from '../lanes/settled.ts';
import type { Flow } from '../lanes/work-lane.ts';
import { TOPICS } from '../records/topic-names.ts';
import { type BooksWish, booksWish, parseWish } from '../records/wish.ts';
import type { RunEvent } from '../status/run-event.ts';
import { authorRecord, bookRecord, missingRecord } from './books-records.ts';
import { deadLetter, type DeadLetterContent, reasonOf } from './dead-letter.ts';
import { assertFits } from './record-size.ts';
import { endsOneRequestOnly, isStop } from './source-endings.ts';
import { wishText } from './wish-content.ts';

export interface BooksFlowOptions {
  readonly api: Books;
  readonly lane: Lane;
  readonly bell: Bell;
  readonly credits: CreditPool;
  /** Most ISBNs of one request. */
  readonly maxBatch: number;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
}

/** A wish under way: what it asks for, by place in its list, and which places are answered. */
interface Wish {
  readonly id: string;
  readonly offset: number;
  readonly key: string | null;
  readonly places: number;
  readonly answered: OffsetRanges;
  /** Places answered in a transaction that has not ended. */
  left: number;
}

/** One ISBN that waits for company. */
interface Place {
  readonly wish: Wish;
  readonly place: number;
  readonly isbn: string;
}

/** What comes of some places of wishes: the records to write, and what to say of it when they are written. */
interface Outcome {
  readonly places: readonly { readonly wish: Wish; readonly place: number }[];
  readonly records: readonly NewRecord[];
  readonly events: readonly RunEvent[];
}

/** A batch goes after this time at the latest, however few wait. */
const LONGEST_WAIT_MS = 200;

/** Looks ISBNs up in batches, and authors one by one. */
export function booksFlow({ api, lane, bell, credits, maxBatch, clock, emit }: BooksFlowOptions): Flow {
  const saved = new Map(lane.stateUnder('wish/').map(({ key, value }) => [Number(key), value as OffsetRangesSnapshot]));
  const active = new Map<number, Wish>();
  const abort = new AbortController();
  let waiting: Place[] = [];
  let cancelTimer: (() => void) | undefined;
  let stopping = false;
  let inHand = 0;
  let queued = { isbns: 0, authors: 0 };

  /** Work goes on by itself; its failure is the lane's. */
  const run = (work: Promise<void>): void => {
    inHand += 1;
    work
      .catch((error: unknown) => {
        if (!stopping || !(isStop(error) || abort.signal.aborted)) bell.fail(error);
      })
      .finally(() => {
        inHand -= 1;
        bell.ring();
      });
  };

  const load = (): number => {
    let left = 0;
    for (const wish of active.values()) left += wish.left;
    return left;
  };

  const open = (record: TopicRecord, places: number): Wish => {
    const answered = offsetRanges(saved.get(record.offset));
    const wish: Wish = {
      id: `${lane.topic}-${lane.partition}-${record.offset}`,
      offset: record.offset,
      key: record.key,
      places,
      answered,
      left: places,
    };
    for (let place = 0; place < places; place += 1) if (answered.has(place)) wish.left -= 1;
    active.set(record.offset, wish);
    return wish;
  };

  const write = async ({ places, records, events }: Outcome): Promise<void> => {
    const wishes = new Set(places.map(({ wish }) => wish));
    for (const { wish, place } of places) wish.answered.add(place);
    const isDone = ({ answered, places: all }: Wish): boolean => answered.next >= all;
    await lane.commit({
      records,
      // A wish of one place needs no state of its own: it is finished or it is not.
      state: [...wishes]
        .filter((wish) => wish.places > 1)
        .map((wish) => [`wish/${wish.offset}`, isDone(wish) ? null : wish.answered.snapshot()]),
      finished: [...wishes].filter(isDone).map(({ offset }) => offset),
    });
    for (const { wish } of places) wish.left -= 1;
    for (const wish of wishes) if (isDone(wish)) active.delete(wish.offset);
    for (const event of events) emit(event);
  };

  const dead = (wish: Wish, key: string, content: DeadLetterContent, error: unknown): Pick<Outcome, 'records' | 'events'> => {
    const topic = TOPICS.booksDeadLetters;
    const letter = deadLetter({
      topic,
      partition: lane.partition,
      key,
      id: `${wish.id}/${key}`,
      content,
      error,
      at: clock.epochMs(),
      tooLarge: (record) => lane.tooLarge(record),
    });
    return { records: [letter], events: [{ type: 'dead-letter', topic, key, error: reasonOf(error) }] };
  };

  const refuse = (wish: Wish, place: number, key: string, content: DeadLetterContent, error: unknown): void => {
    run(write({ places: [{ wish, place }], ...dead(wish, key, content, error) }));
  };

  const queue = (wish: Wish, isbns: readonly string[]): void => {
    for (const [place, text] of isbns.entries()) {
      if (wish.answered.has(place)) continue;
      try {
        waiting.push({ wish, place, isbn: normalizeIsbn(text) });
      } catch (error) {
        // A wish's own key where what it asks for can't be one.
        refuse(wish, place, text.trim() === '' ? (wish.key ?? wish.id) : text, { request: { isbn: text } }, error);
      }
    }
    while (waiting.length >= maxBatch) run(lookUp(waiting.splice(0, maxBatch)));
    cancelTimer?.();
    cancelTimer = waiting.length > 0 ? clock.schedule(LONGEST_WAIT_MS, flush) : undefined;
  };

  /** A list of thousands is one thing that happened, not thousands. */
  const tellQueued = (): void => {
    if (queued.isbns + queued.authors === 0) return;
    emit({ type: 'books-queued', ...queued });
    queued = { isbns: 0, authors: 0 };
  };

  const flush = (): void => {
    tellQueued();
    cancelTimer?.();
    cancelTimer = undefined;
    if (waiting.length > 0) run(lookUp(waiting.splice(0)));
  };

  const lookUp = async (places: readonly Place[]): Promise<void> => {
    tellQueued();
    let delivery: Awaited<ReturnType<Books['batch']>>;
    try {
      delivery = await api.batch(
        places.map(({ isbn }) => isbn),
        { credits, signal: abort.signal },
      );
    } catch (error) {
      if (!endsOneRequestOnly(error)) throw error;
      const letters = places.map(({ wish, isbn }) => dead(wish, isbn, { request: { isbn } }, error));
      await write({ places, records: letters.flatMap(({ records }) => records), events: letters.flatMap(({ events }) => events) });
      return;
    }
    await write(outcomeOf(places, delivery.value));
    delivery.credit.release();
  };

  const outcomeOf = (places: readonly Place[], answers: readonly BookAnswer[]): Outcome => {
    const byIsbn = new Map(answers.filter(({ kind }) => kind !== 'unreadable').map((answer) => [answer.isbn ?? answer.asked, answer]));
    const records: NewRecord[] = [];
    const events: RunEvent[] = [];
    const add = (more: Pick<Outcome, 'records' | 'events'>): void => {
      records.push(...more.records);
      events.push(...more.events);
    };
    let found = 0;
    let missing = 0;
    for (const { wish, isbn } of places) {
      const about = { partition: lane.partition, request: wish.id, isbn };
      const answer = byIsbn.get(isbn);
      switch (answer?.kind) {
        case 'found': {
          const record = bookRecord(about, answer.record);
          try {
            assertFits([record], lane, { service: 'books', subject: isbn });
          } catch (error) {
            add(dead(wish, isbn, { request: { isbn } }, error));
            break;
          }
          records.push(record);
          found += 1;
          break;
        }
        case 'missing':
        case undefined:
          records.push(missingRecord(about));
          missing += 1;
          break;
        case 'invalid':
          add(dead(wish, isbn, { request: { isbn } }, answer.error));
          break;
        case 'unreadable':
          break;
      }
    }
    const [first] = places;
    for (const answer of answers) {
      if (answer.kind === 'unreadable' && first !== undefined)
        add(dead(first.wish, first.wish.id, { record: answer.record }, answer.error));
    }
    return { places, records, events: [{ type: 'books-written', found, missing }, ...events] };
  };

  const askAuthor = async (wish: Wish, author: string): Promise<void> => {
    const place = { wish, place: 0 };
    try {
      const { value, credit } = await api.askAuthor(author, { credits, signal: abort.signal });
      try {
        const record = authorRecord({ partition: lane.partition, request: wish.id }, value);
        assertFits([record], lane, { service: 'books', subject: author });
        const books = value.record.books.length;
        await write({ places: [place], records: [record], events: [{ type: 'author-written', author, books }] });
      } finally {
        credit.release();
      }
    } catch (error) {
      if (!endsOneRequestOnly(error)) throw error;
      await write({ places: [place], ...dead(wish, author, { request: { author } }, error) });
    }
  };

  return {
    get load() {
      return load();
    },
    take(record) {
      if (active.has(record.offset)) return;
      let parsed: BooksWish;
      try {
        parsed = parseWish(booksWish, record.value);
      } catch (error) {
        const wish = open(record, 1);
        refuse(wish, 0, record.key ?? wish.id, { requestText: wishText(record.value) }, error);
        return;
      }
      if ('author' in parsed) {
        queued.authors += 1;
        run(askAuthor(open(record, 1), parsed.author));
        return;
      }
      const isbns = 'isbn' in parsed ? [parsed.isbn] : parsed.isbns;
      const wish = open(record, isbns.length);
      queued.isbns += wish.left;
      queue(wish, isbns);
    },
    flush,
    async stop() {
      stopping = true;
      cancelTimer?.();
      waiting = [];
      api.stop();
      try {
        await settled({ bell, clock, isBusy: () => inHand > 0 });
      } finally {
        abort.abort();
      }
    },
  };
}
