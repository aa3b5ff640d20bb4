import { eventWords } from './event-words.ts';
import { isCrawlOf } from './held-lanes.ts';
import { countWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { HeldLane } from './held-lanes.ts';
import type { BudgetGauge, RunEvent } from './run-event.ts';

type Progress = Extract<RunEvent, { type: 'crawl-started' | 'page-written' | 'crawl-completed' | 'books-written' | 'author-written' }>;

export interface PageLinesOptions {
  /** Epoch ms. */
  readonly now: () => number;
  readonly write: (line: string) => void;
  readonly budgets: () => readonly BudgetGauge[];
}

export interface PageLines {
  add(event: Progress): void;
  /** Writes what has been held back for a second. */
  flush(): void;
  /** Writes what is held back of one crawl, which has ended. */
  end(crawl: string): void;
  /** Writes what is held back of a lane's crawls, which go on elsewhere. */
  endLane(lane: HeldLane): void;
  flushAll(): void;
}

/** What one crawl, the ISBNs or the authors have to say and must wait to. */
interface Held {
  lastLineAt: number;
  /** Pages or answers since the last line, undefined where there are none. */
  first?: Progress;
  last?: Progress;
  items: number;
  missing: number;
  answers: number;
  /** Authors that are complete. */
  authors: number;
  done?: Extract<Progress, { type: 'crawl-completed' }>;
}

const spacingMs = 1000;

/** Lines about progress, at most one a second about the same crawl: what comes sooner is summed up in the next. */
export function createPageLines(options: PageLinesOptions): PageLines {
  const { now, write, budgets } = options;
  const held = new Map<string, Held>();

  return {
    add(event) {
      const about = subject(event);
      const one = held.get(about) ?? { lastLineAt: Number.NEGATIVE_INFINITY, items: 0, missing: 0, answers: 0, authors: 0 };
      held.set(about, one);
      if (event.type === 'crawl-started') {
        one.lastLineAt = now();
        write(eventWords(event));
        return;
      }
      if (event.type === 'crawl-completed') one.done = event;
      else hold(one, event);
      if (isDue(one)) say(about, one);
    },
    flush() {
      for (const [about, one] of held) if (isDue(one)) say(about, one);
    },
    end(crawl) {
      const one = held.get(crawl);
      if (one !== undefined) say(crawl, one);
      held.delete(crawl);
    },
    endLane(lane) {
      for (const [about, one] of held) {
        if (!isCrawlOf(about, lane)) continue;
        say(about, one);
        held.delete(about);
      }
    },
    flushAll() {
      for (const [about, one] of held) say(about, one);
      held.clear();
    },
  };

  function isDue(one: Held): boolean {
    return now() - one.lastLineAt >= spacingMs;
  }

  function say(about: string, one: Held): void {
    const parts = [one.last === undefined ? '' : progressWords(one), doneWords(one)].filter((part) => part !== '');
    if (parts.length > 0) {
      write(parts.join('; '));
      one.lastLineAt = now();
    }
    if (one.done !== undefined) {
      held.delete(about);
      return;
    }
    delete one.first;
    delete one.last;
    one.items = one.missing = one.answers = one.authors = 0;
  }

  function progressWords(one: Held): string {
    const { first, last } = one;
    if (last?.type === 'page-written' && first?.type === 'page-written') {
      const pages = first.page === last.page ? `page ${last.page}` : `pages ${first.page} to ${last.page}`;
      return `${safeText(last.user)} ${pages}: ${countWords(one.items, 'id')}${left(last.credential)}`;
    }
    if (last?.type === 'books-written') return eventWords({ ...last, found: one.items, missing: one.missing });
    if (last?.type === 'author-written') {
      if (one.answers === 1) return eventWords(last);
      const pages = one.answers === one.authors ? '' : `, ${countWords(one.answers, 'page')}`;
      return `${countWords(one.authors, 'author')}${pages}: ${countWords(one.items, 'book')}`;
    }
    return '';
  }

  function left(credential: string): string {
    const budget = budgets().find((one) => one.service === 'followers' && one.credential === credential);
    return budget === undefined ? '' : `, ${Math.max(0, budget.limit - budget.used)}/${budget.limit} left`;
  }
}

function doneWords(one: Held): string {
  if (one.done === undefined) return '';
  const words = eventWords(one.done);
  return one.last === undefined ? words : words.slice(safeText(one.done.user).length + 1);
}

function hold(one: Held, event: Progress): void {
  one.first ??= event;
  one.last = event;
  one.answers += 1;
  if (event.type === 'page-written') one.items += event.ids;
  if (event.type === 'author-written') {
    one.items += event.books;
    if (event.last) one.authors += 1;
  }
  if (event.type === 'books-written') {
    one.items += event.found;
    one.missing += event.missing;
  }
}

function subject(event: Progress): string {
  switch (event.type) {
    case 'books-written':
      return 'isbns';
    case 'author-written':
      return 'authors';
    case 'crawl-started':
    case 'page-written':
    case 'crawl-completed':
      return event.crawl;
  }
}
