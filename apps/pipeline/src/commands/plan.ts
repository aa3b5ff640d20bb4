import { requestsPerSecond } from '@headgate/sources/books';
import type { Config } from '../config/config.ts';
import { forecastMs, requestsUntilDone } from '../planning/forecast.ts';
import { type CrawlLeft, type LeftToDo, leftToDo } from '../planning/left-to-do.ts';
import { prepareTopics } from '../run/topics.ts';
import { durationWords } from '../status/text/duration-words.ts';
import { countWords, groupedNumber } from '../status/text/number-words.ts';
import { safeText } from '../status/text/safe-text.ts';
import { createTimeWords } from '../status/text/time-words.ts';
import { type CommandContext, openLog, readConfig } from './command-context.ts';

/** More crawls than these are summed in one line. */
const LISTED = 50;

/** Writes what is left to do, the requests it needs and when it will be done, to stdout. Resolves to the exit code. */
export async function plan(context: CommandContext): Promise<number> {
  const config = await readConfig(context);
  const log = await openLog(context, config.topics);
  try {
    await prepareTopics({ log, config });
    const left = await leftToDo({ log, config, clock: context.clock });
    const now = context.clock.epochMs();
    context.stdout.write(context.json ? `${JSON.stringify(left)}\n` : planText({ config, left, now }));
    return 0;
  } finally {
    await log.close();
  }
}

interface PlanTextOptions {
  readonly config: Config;
  readonly left: LeftToDo;
  /** Epoch ms. */
  readonly now: number;
}

/** The plan in words. */
function planText({ config, left, now }: PlanTextOptions): string {
  const rows = [...crawlRows(config, left.crawls, now), ...bookRows(config, left, now)];
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
  return `${[...lines, ...advice(config, left)].join('\n')}\n${comparing}`;
}

function crawlRows({ followers }: Config, crawls: readonly CrawlLeft[], now: number): string[][] {
  if (followers === undefined) return [];
  const { limit, credentials } = followers;
  const names = credentials.length > 3 ? countWords(credentials.length, 'credential') : credentials.map(({ name }) => name).join(', ');
  const turns = requestsUntilDone(crawls.map((crawl) => pagesLeft(crawl) ?? 1));
  const allKnown = crawls.every((crawl) => pagesLeft(crawl) !== undefined);
  const rows = crawls.slice(0, LISTED).map(({ user, page, cursor, pagesLastTime }, i) => {
    const pages = pagesLeft({ page, ...(pagesLastTime !== undefined && { pagesLastTime }) });
    const known = pages !== undefined;
    const start = cursor === '-1' ? 'from the start' : `from cursor ${cursor}`;
    const where = page > 1 ? `from page ${groupedNumber(page)}` : start;
    const doneMs = forecastMs({
      requests: turns[i] ?? 1,
      limit: limit.requests,
      windowMs: limit.windowMs,
      credentials: credentials.length,
    });
    const done = allKnown ? when(now, doneMs) : notBefore(now, doneMs);
    const size = known ? `${done} (if it is as long as last time)` : '(size not known before its last page)';
    return [safeText(user), where, known ? groupedNumber(pages) : '?', names, size];
  });
  if (crawls.length > LISTED) rows.push([`and ${countWords(crawls.length - LISTED, 'more crawl')}`, '', '?', names, '']);
  const atLeast = crawls.reduce((sum, crawl) => sum + (pagesLeft(crawl) ?? 1), 0);
  if (crawls.length > 0) {
    const done = forecastMs({ requests: atLeast, limit: limit.requests, windowMs: limit.windowMs, credentials: credentials.length });
    rows.push(['all crawls', '', groupedNumber(atLeast), names, allKnown ? when(now, done) : notBefore(now, done)]);
  }
  return rows;
}

/** Pages still to come, going by the last crawl of the same user. */
function pagesLeft({ page, pagesLastTime }: Pick<CrawlLeft, 'page' | 'pagesLastTime'>): number | undefined {
  return pagesLastTime === undefined ? undefined : Math.max(1, pagesLastTime - page + 1);
}

function bookRows({ books }: Config, { isbns, authors }: LeftToDo, now: number): string[][] {
  if (books === undefined) return [];
  const perSecond = requestsPerSecond(books.plan);
  const batches = Math.ceil(isbns / books.maxBatch);
  const done = forecastMs({ requests: batches + authors, limit: perSecond, windowMs: 1_000, credentials: 1 });
  const rate = `${perSecond} a second`;
  return [
    ...(isbns > 0
      ? [['isbns', `${groupedNumber(isbns)} in batches of ${books.maxBatch}`, groupedNumber(batches), rate, when(now, done)]]
      : []),
    ...(authors > 0 ? [['authors', groupedNumber(authors), groupedNumber(authors), rate, when(now, done)]] : []),
  ];
}

function advice({ followers, books }: Config, { crawls, isbns, authors }: LeftToDo): string[] {
  const lines: string[] = [];
  if (followers !== undefined && crawls.length > 0) {
    const requests = crawls.reduce((sum, crawl) => sum + (pagesLeft(crawl) ?? 1), 0);
    const budget = { requests, limit: followers.limit.requests, windowMs: followers.limit.windowMs };
    const saved =
      forecastMs({ ...budget, credentials: followers.credentials.length }) -
      forecastMs({ ...budget, credentials: followers.credentials.length + 1 });
    if (saved > 0) lines.push(`One more credential would save ${durationWords(saved)}.`);
  }
  if (books !== undefined && books.plan !== 'pro') {
    const requests = Math.ceil(isbns / books.maxBatch) + authors;
    const saved =
      forecastMs({ requests, limit: requestsPerSecond(books.plan), windowMs: 1_000, credentials: 1 }) -
      forecastMs({ requests, limit: requestsPerSecond('pro'), windowMs: 1_000, credentials: 1 });
    if (saved >= 1_000) lines.push(`A pro plan for books would save ${durationWords(saved)}.`);
  }
  return lines;
}

function notBefore(now: number, inMs: number): string {
  return inMs === 0 ? '(size not known yet)' : `not before ${when(now, inMs)}`;
}

function when(now: number, inMs: number): string {
  return inMs === 0 ? 'at once' : `in ${durationWords(inMs)}${inMs < 60_000 ? '' : `, ${createTimeWords().when(now + inMs, now)}`}`;
}
