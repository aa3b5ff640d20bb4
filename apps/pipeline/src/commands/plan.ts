import { requestsPerSecond } from '@headgate/sources/books';
import type { Config } from '../config/config.ts';
import { forecastBooks } from '../planning/book-forecast.ts';
import { type Done, forecastCrawls } from '../planning/crawl-forecast.ts';
import { freeBooks, freeCredentials } from '../planning/free-budgets.ts';
import { type CrawlLeft, type Journals, type LeftToDo, leftToDo } from '../planning/left-to-do.ts';
import { logView } from '../planning/log-view.ts';
import { booksOptions } from '../pipelines/books.ts';
import { followersOptions } from '../pipelines/followers.ts';
import { FIRST_CURSOR } from '../records/requests.ts';
import { isLogThere } from '../run/open-topic-log.ts';
import { topicsThere } from '../run/topics.ts';
import { durationWords } from '../status/text/duration-words.ts';
import { countWords, groupedNumber } from '../status/text/number-words.ts';
import { escapedControls } from '../status/text/escaped-controls.ts';
import { safeText } from '../status/text/safe-text.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import { warnOfClosedStdout } from './closed-stdout.ts';
import { type CommandContext, openLog, readConfig } from './command-context.ts';

/** More crawls than these are summed in one line. */
const LISTED = 50;

/** Writes what is left to do, the requests it needs and when it will be done, to stdout; makes nothing. Resolves to the exit code. */
export async function plan(context: CommandContext): Promise<number> {
  const { clock, json, stdout } = context;
  await warnOfClosedStdout(context);
  const config = await readConfig(context);
  await using opened = (await isLogThere(config.topics)) ? await openLog(context, config.topics) : undefined;
  const partitions = opened === undefined ? new Map<string, number>() : await topicsThere({ log: opened, config });
  const log = logView({ log: opened, partitions });
  const { left, ...journals } = await leftToDo({ log, config, clock, env: context.env });
  stdout.write(json ? `${escapedControls(JSON.stringify(left))}\n` : planText({ config, left, journals, now: clock.epochMs() }));
  return 0;
}

interface PlanTextOptions {
  readonly config: Config;
  readonly left: LeftToDo;
  readonly journals: Journals;
  /** Epoch ms. */
  readonly now: number;
}

/** The plan in words. */
function planText({ config, left, journals, now }: PlanTextOptions): string {
  const { rows, advice } = together([followersPart({ config, left, journals, now }), booksPart({ config, left, journals, now })]);
  const comparing = left.comparisons > 0 ? `${countWords(left.comparisons, 'comparison')} of crawls, without a request.\n` : '';
  if (rows.length === 0) return comparing === '' ? 'Nothing is left to do.\n' : comparing;
  const table = [['', '', 'requests', 'with', 'done'], ...rows];
  const widths = [0, 1, 2, 3].map((column) => Math.max(...table.map((row) => row[column]?.length ?? 0)));
  const lines = table.map((row) =>
    row
      .map((cell, i) => (i === 2 ? cell.padStart(widths[i] ?? 0) : cell.padEnd(widths[i] ?? 0)))
      .join('   ')
      .trimEnd(),
  );
  return `${[...lines, ...advice].join('\n')}\n${comparing}`;
}

/** What there is to say of one service. */
interface Part {
  readonly rows: readonly (readonly string[])[];
  readonly advice: readonly string[];
}

function together(parts: readonly Part[]): Part {
  return { rows: parts.flatMap(({ rows }) => rows), advice: parts.flatMap(({ advice }) => advice) };
}

function followersPart({ config: { pipelines, topics }, left: { crawls }, journals, now }: PlanTextOptions): Part {
  const followers = followersOptions(pipelines);
  if (followers === undefined || crawls.length === 0) return { rows: [], advice: [] };
  const free = freeCredentials(followers, journals.followers);
  const forecast = forecastCrawls({ followers, lanes: topics.lanes, crawls, free, first: LISTED });
  const everybody = namesOf(followers.credentials.map(({ name }) => name));
  const rows = forecast.crawls.map((done, i) => {
    const { pages, credentials } = done;
    const size = pages === undefined ? '(size not known before its last page)' : `${when(now, done)} (if it is as long as last time)`;
    const crawl = crawls[i];
    return crawl === undefined
      ? []
      : [safeText(crawl.user), where(crawl), pages === undefined ? '?' : groupedNumber(pages), namesOf(credentials), size];
  });
  if (crawls.length > LISTED) rows.push([`and ${countWords(crawls.length - LISTED, 'more crawl')}`, '', '?', everybody, '']);
  const { all, savedMs = 0 } = forecast;
  rows.push(['all crawls', '', groupedNumber(all.requests), everybody, when(now, all)]);
  return { rows, advice: savedMs > 0 ? [`One more credential would save ${durationWords(savedMs)}.`] : [] };
}

function where({ page, cursor }: CrawlLeft): string {
  if (page > 1) return `from page ${groupedNumber(page)}`;
  return cursor === FIRST_CURSOR ? 'from the start' : `from cursor ${cursor}`;
}

function namesOf(credentials: readonly string[]): string {
  return credentials.length > 3 ? countWords(credentials.length, 'credential') : credentials.join(', ');
}

function booksPart({ config: { pipelines }, left: { isbns, authors }, journals, now }: PlanTextOptions): Part {
  const books = booksOptions(pipelines);
  if (books === undefined) return { rows: [], advice: [] };
  const free = freeBooks(books, journals.books, now);
  const { batches, batch, inMs, savedMs } = forecastBooks({ books, isbns, authors, free, now });
  const quota = books.perDay === undefined ? '' : `, ${groupedNumber(books.perDay.isbns)} ISBNs a day`;
  const rate = `${requestsPerSecond(books.plan)} a second${quota}`;
  // How many pages an author's books fill shows when they are asked for.
  const done = when(now, { inMs, isExact: authors === 0 });
  const rows = [
    ...(isbns > 0 ? [['isbns', `${groupedNumber(isbns)} in batches of ${batch}`, groupedNumber(batches), rate, done]] : []),
    ...(authors > 0 ? [['authors', groupedNumber(authors), `${groupedNumber(authors)} or more`, rate, done]] : []),
  ];
  return { rows, advice: savedMs >= 1_000 ? [`A pro plan for books would save ${durationWords(savedMs)}.`] : [] };
}

function when(now: number, { inMs, isExact }: Done): string {
  const words = inMs === 0 ? 'at once' : `in ${durationWords(inMs)}${inMs < 60_000 ? '' : `, ${createTimeWords().when(now + inMs, now)}`}`;
  if (isExact) return words;
  return inMs === 0 ? '(size not known yet)' : `not before ${words}`;
}
