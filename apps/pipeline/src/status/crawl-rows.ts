import { reasonWithout } from './event-words.ts';
import { activityWords } from './wait-words.ts';
import { countWords, groupedNumber, numberWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { Activity, RunGauges } from './run-event.ts';
import type { CrawlState, RunSnapshot } from './run-snapshot.ts';
import type { TableRow } from './text/table.ts';
import type { TimeWords } from './text/time-words.ts';

export interface CrawlRowsOptions {
  readonly snapshot: RunSnapshot;
  readonly gauges: RunGauges;
  readonly times: TimeWords;
  /** Most lines there is room for, that of the rest included. */
  readonly most: number;
}

/** A crawl, the ISBNs or the authors, as far as anything is known of them. */
interface Work {
  readonly name: string;
  readonly crawl?: CrawlState;
  readonly activity?: Activity;
  /** What to leave out first where there is no room: the highest. */
  readonly rank: number;
}

const ranks = { working: 0, failed: 1, queued: 2, done: 3 } as const;

/** A row for each crawl and for the books, in the order they came up; those without room are summed up in `rest`. */
export function crawlRows(options: CrawlRowsOptions): { readonly rows: readonly TableRow[]; readonly rest: string } {
  const all = works(options);
  if (all.length <= options.most) return { rows: all.map((work) => row(work, options)), rest: '' };
  const kept = new Set(all.toSorted((one, other) => one.rank - other.rank).slice(0, options.most - 1));
  return {
    rows: all.filter((work) => kept.has(work)).map((work) => row(work, options)),
    rest: restWords(all.filter((work) => !kept.has(work))),
  };
}

function works({ snapshot, gauges }: CrawlRowsOptions): readonly Work[] {
  const crawls = new Map(snapshot.crawls.map((crawl) => [crawl.user, crawl]));
  const activities = new Map(gauges.activities.map((activity) => [safeText(activity.subject), activity]));
  // The last crawl of a user stands where the first one did, and the books stand last.
  const names = new Set([...crawls.keys(), ...activities.keys()]);
  const books = ['isbns', 'authors'].filter((name) => names.delete(name) || isQueued(snapshot, name));
  return [...names, ...books].map((name) => {
    const crawl = crawls.get(name);
    const activity = activities.get(name);
    return {
      name,
      ...(crawl === undefined ? {} : { crawl }),
      ...(activity === undefined ? {} : { activity }),
      rank: ranks[standing(crawl, activity)],
    };
  });
}

function isQueued({ books }: RunSnapshot, name: string): boolean {
  return (name === 'isbns' ? books.queuedIsbns : books.queuedAuthors) > 0;
}

function standing(crawl: CrawlState | undefined, activity: Activity | undefined): keyof typeof ranks {
  if (activity?.state === 'queued') return 'queued';
  if (activity?.state === 'failed' || crawl?.state === 'failed') return 'failed';
  if (activity?.state === 'done' || crawl?.state === 'completed') return 'done';
  return activity === undefined && crawl === undefined ? 'queued' : 'working';
}

function row(work: Work, { snapshot, times }: CrawlRowsOptions): TableRow {
  if (work.name === 'isbns' || work.name === 'authors') return booksRow(work, snapshot, times);
  const { name, crawl, activity } = work;
  const note = noteWords(work, snapshot.now, times);
  if (crawl === undefined) return { name, progress: activity?.state === 'failed' ? '' : 'first page', amount: '', ...note };
  const pages = Math.max(0, crawl.page);
  const expected = crawl.state === 'running' ? crawl.expectedPages : undefined;
  const share = crawl.state === 'completed' ? 1 : expected === undefined ? undefined : pages / Math.max(expected, pages, 1);
  const end = activity?.state === 'queued' ? undefined : expectedEnd(crawl, snapshot.now);
  return {
    name,
    ...(share === undefined ? {} : { share }),
    progress: progressWords(crawl, expected),
    amount: crawl.ids > 0 ? countWords(crawl.ids, 'id') : '',
    ...note,
    note: end === undefined ? note.note : `${note.note}, done ${times.when(end, snapshot.now)}`,
  };
}

function progressWords({ page, state }: CrawlState, expected: number | undefined): string {
  const pages = Math.max(0, page);
  if (pages === 0 && state === 'running') return 'first page';
  if (pages === 0 && state === 'failed') return '';
  return expected === undefined ? countWords(pages, 'page') : `${groupedNumber(pages)} of ~${groupedNumber(expected)} pages`;
}

function booksRow(work: Work, { books, now }: RunSnapshot, times: TimeWords): TableRow {
  const isbns = work.name === 'isbns';
  const queued = isbns ? books.queuedIsbns : books.queuedAuthors;
  const done = isbns ? books.found + books.missing : books.authors;
  const missing = books.missing > 0 ? `${numberWords(books.missing)} not found` : '';
  return {
    name: work.name,
    ...(queued > 0 ? { share: done / queued } : {}),
    progress: queued > 0 ? `${groupedNumber(done)} of ${groupedNumber(queued)}` : groupedNumber(done),
    amount: isbns ? missing : countWords(books.authorBooks, 'book'),
    ...noteWords(work, now, times),
  };
}

function noteWords({ name, crawl, activity }: Work, now: number, times: TimeWords): Pick<TableRow, 'note' | 'tone'> {
  const failed = crawl?.state === 'failed' ? crawl.error : undefined;
  if (failed !== undefined) return { note: `failed: ${reasonWithout(name, failed)}`, tone: 'bad' };
  if (crawl?.state === 'completed') return { note: 'done', tone: 'good' };
  if (activity === undefined) return { note: '' };
  const note = activityWords(activity, now, times);
  if (activity.state === 'done') return { note, tone: 'good' };
  return activity.state === 'failed' ? { note, tone: 'bad' } : { note };
}

function expectedEnd(crawl: CrawlState, now: number): number | undefined {
  if (crawl.state !== 'running' || crawl.expectedPages === undefined || crawl.pages === 0) return undefined;
  const left = crawl.expectedPages - crawl.page;
  return left <= 0 ? undefined : now + (left * (now - crawl.startedAt - crawl.awayMs)) / crawl.pages;
}

function restWords(rest: readonly Work[]): string {
  const counts = Object.keys(ranks).map(
    (state) => [state, rest.filter((work) => standing(work.crawl, work.activity) === state).length] as const,
  );
  const said = counts.filter(([, count]) => count > 0).map(([state, count]) => `${groupedNumber(count)} ${state}`);
  return `and ${groupedNumber(rest.length)} more: ${said.join(', ')}`;
}
