import { normalizeIsbn } from '@headgate/operators';
import type { AuthorPage, Books } from '@headgate/sources/books';
import type { Clock, CreditPool } from '@headgate/throttle';
import type { Bell } from '../lanes/bell.ts';
import type { Lane } from '../lanes/lane.ts';
import { settled } from '../lanes/settled.ts';
import type { Flow } from '../lanes/work-lane.ts';
import { type AuthorWish, type BooksWish, booksWish } from '../records/wish.ts';
import type { RunEvent } from '../status/run-event.ts';
import { authorKey, authorWishes, begunAuthors } from './author-checkpoint.ts';
import { type BookWish, type Place, bookWishes } from './book-wishes.ts';
import { type Outcome, booksOutcomes } from './books-outcome.ts';
import { authorRecord } from './books-records.ts';
import { assertFits } from './record-size.ts';
import { endsOneRequestOnly, isStop } from './source-endings.ts';
import { readWish, wishText } from './wish-content.ts';

export interface BooksFlowOptions {
  readonly api: Books;
  readonly lane: Lane;
  readonly bell: Bell;
  readonly credits: CreditPool;
  /** Most ISBNs of one request. */
  readonly maxBatch: number;
  /** Books to ask for per page of an author, and most pages of one. */
  readonly pageSize: number;
  readonly maxPages: number;
  readonly clock: Clock;
  readonly emit: (event: RunEvent) => void;
}

/** One ISBN that waits for company. */
interface WaitingIsbn extends Place {
  readonly isbn: string;
}

/** A batch goes after this time at the latest, however few wait. */
const LONGEST_WAIT_MS = 200;

/** Looks ISBNs up in batches, and authors page by page. */
export function booksFlow(options: BooksFlowOptions): Flow {
  const { api, lane, bell, credits, maxBatch, clock, emit } = options;
  const wishes = bookWishes(lane);
  const authors = begunAuthors((prefix) => lane.stateUnder(prefix));
  const outcomes = booksOutcomes({ lane, clock });
  const abort = new AbortController();
  let waiting: WaitingIsbn[] = [];
  let cancelTimer: (() => void) | undefined;
  let stopping = false;
  let inHand = 0;
  let batches = 0;
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

  const write = async (places: readonly Place[], { records, events }: Outcome): Promise<void> => {
    await wishes.write(places, records);
    for (const event of events) emit(event);
  };

  const queue = (wish: BookWish): void => {
    const refused: Place[] = [];
    const letters: Outcome[] = [];
    for (const [place, text] of wish.asks.entries()) {
      if (wish.answered.has(place)) continue;
      try {
        waiting.push({ wish, place, isbn: normalizeIsbn(text) });
      } catch (error) {
        // A wish's own key where what it asks for can't be one.
        const key = text.trim() === '' ? wish.key || wish.id : text;
        refused.push({ wish, place });
        letters.push(outcomes.ofError(wish, key, { request: { isbn: text } }, error));
      }
    }
    if (refused.length > 0) run(write(refused, together(letters)));
    ask(maxBatch);
    cancelTimer?.();
    cancelTimer = waiting.length > 0 ? clock.schedule(LONGEST_WAIT_MS, flush) : undefined;
  };

  /** Asks while `least` wait and the day has calls left, which the last batch is cut to; then one more waits for the day to turn. */
  const ask = (least: number): void => {
    let { leftToday = Infinity } = api.gauges();
    while (waiting.length >= least && (leftToday > 0 || batches === 0)) {
      const places = waiting.splice(0, Math.min(maxBatch, leftToday || maxBatch));
      leftToday = Math.max(0, leftToday - places.length);
      run(lookUp(places));
    }
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
    ask(1);
  };

  /** A batch is answered: perhaps the day has turned for those that it had no room for. */
  const askOn = (): void => {
    batches -= 1;
    if (cancelTimer === undefined) ask(1);
  };

  const lookUp = async (places: readonly WaitingIsbn[]): Promise<void> => {
    tellQueued();
    let delivery: Awaited<ReturnType<Books['batch']>>;
    batches += 1;
    try {
      delivery = await api.batch(
        places.map(({ isbn }) => isbn),
        { credits, signal: abort.signal },
      );
      askOn();
    } catch (error) {
      if (!endsOneRequestOnly(error)) throw error;
      askOn();
      const letters = places.map(({ wish, isbn }) => outcomes.ofError(wish, isbn, { request: { isbn } }, error));
      await write(places, together(letters));
      return;
    }
    try {
      await write(places, outcomes.ofAnswers(places, delivery.value));
    } finally {
      delivery.credit.release();
    }
  };

  /** Writes an author page by page, each with the checkpoint of the next: a crash repeats one request at most. */
  const walkAuthor = async (wish: BookWish, asked: AuthorWish): Promise<void> => {
    const { author } = asked;
    const places = [{ wish, place: 0 }];
    let from = authors.get(wish.offset)?.from;
    try {
      const { page = 1, pageSize = options.pageSize } = asked;
      const reader = api.authorPages(author, { page, pageSize, maxPages: options.maxPages, from }).reader();
      for (;;) {
        const delivery = await reader.read({ credits, signal: abort.signal });
        if (delivery === undefined) return;
        const { value, credit } = delivery;
        try {
          const record = authorRecord({ partition: lane.partition, request: wish.id }, value);
          assertFits([record], lane, {
            service: 'books',
            subject: author,
            record: `page ${value.page}`,
            orElse: ', or lower books.pageSize',
          });
          const { checkpoint } = value;
          const state = [[authorKey(wish.offset), checkpoint === undefined ? null : { from: checkpoint, wish: asked }]] as const;
          await wishes.write(value.last ? places : [], [record], state);
          from = checkpoint;
          tellAuthor(value);
        } finally {
          credit.release();
        }
      }
    } catch (error) {
      if (!endsOneRequestOnly(error)) throw error;
      // Replayed, it goes on where it stopped.
      const request = from === undefined ? asked : { author, page: from.page, pageSize: from.pageSize };
      const { records, events } = outcomes.ofError(wish, author, { request }, error);
      await wishes.write(places, records, [[authorKey(wish.offset), null]]);
      for (const event of events) emit(event);
    }
  };

  const tellAuthor = ({ author, page, last, mayBeCut, record }: AuthorPage): void => {
    emit({ type: 'author-written', author, page, last, books: record.books.length });
    if (!mayBeCut) return;
    const message =
      `${author}: the service sent page ${page - 1} of the author's books again for page ${page}, ` +
      'so that nobody can tell whether there are more. If there are, a larger books.pageSize shows them.';
    emit({ type: 'notice', level: 'warn', message });
  };

  return {
    get load() {
      return wishes.load;
    },
    begun: [...wishes.begun, ...authorWishes(authors)],
    take(record) {
      if (wishes.has(record.offset)) return;
      let parsed: BooksWish;
      try {
        parsed = readWish(booksWish, record);
      } catch (error) {
        const wish = wishes.open(record, '');
        const outcome = outcomes.ofError(wish, record.key || wish.id, { requestText: wishText(record.value) }, error);
        run(write([{ wish, place: 0 }], outcome));
        return;
      }
      if ('author' in parsed) {
        queued.authors += 1;
        run(walkAuthor(wishes.open(record, parsed.author), parsed));
        return;
      }
      const wish = wishes.openList(record, 'isbn' in parsed ? [parsed.isbn] : parsed.isbns);
      queued.isbns += wish.left;
      queue(wish);
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

function together(outcomes: readonly Outcome[]): Outcome {
  return { records: outcomes.flatMap(({ records }) => records), events: outcomes.flatMap(({ events }) => events) };
}
