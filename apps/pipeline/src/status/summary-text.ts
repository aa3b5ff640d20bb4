import { changesWords, reasonWithout } from './event-words.ts';
import { faultWords } from './fault-kind.ts';
import { elsewhereWords, lanesWords } from './lane-words.ts';
import { displayWidth, padWidth } from './text/display-width.ts';
import { durationWords } from './text/duration-words.ts';
import { countWords, groupedNumber, percentWords } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { OutcomeCounts, RunSnapshot } from './run-snapshot.ts';

export interface SummaryOptions {
  readonly snapshot: RunSnapshot;
  /** The topics the followers' records went to; default `followers.pages`. */
  readonly followersTopics?: readonly string[];
  /** The command that reads a topic; default `headgate read TOPIC`. */
  readonly readCommand?: (topic: string) => string;
  /** Stopped by a signal before the work was done; default false. */
  readonly interrupted?: boolean;
  /** Whether the same command goes on with what is left; default true. */
  readonly goesOn?: boolean;
  /** Crawls that are not done, whether they were begun or not. Default: it isn't known. */
  readonly crawlsLeft?: { readonly count: number; readonly isExact: boolean } | undefined;
  /** The share (0 to 1) of what the windows permitted that was used; left out where it isn't known. */
  readonly budgetUse?: number;
}

const namedFailures = 10;

/** The end of a run in words, several lines: what arrived, where it is, what failed and why, and the command that reads it. */
export function summaryText(options: SummaryOptions): string {
  const { snapshot, interrupted = false, goesOn = true, followersTopics = ['followers.pages'] } = options;
  const command = options.readCommand ?? ((topic: string) => `headgate read ${topic}`);
  const read = (topic: string): string => safeText(command(topic), 1000);
  const elapsed = durationWords(snapshot.now - snapshot.startedAt);
  const arrived = arrivals(snapshot, followersTopics, interrupted ? crawlsToDo(snapshot, options.crawlsLeft) : undefined);
  const last = `${'Read it:'.padEnd(18)}${read(topicToRead(snapshot, followersTopics))} --max 10`;

  if (!interrupted && isNothing(snapshot) && snapshot.logUnavailable === undefined)
    return [nothingWords(snapshot), ...elsewhere(snapshot), last].join('\n');
  const title = `${interrupted ? 'Stopped after' : 'Done in'} ${elapsed}: `;
  return [
    ...block(title, arrived.length > 0 ? arrived : [{ what: 'nothing was written', where: '' }]),
    ...requestLine(snapshot, options.budgetUse),
    ...failedCrawls(snapshot, read),
    ...otherDeadLetters(snapshot, read),
    ...unreachedLog(snapshot),
    ...elsewhere(snapshot),
    ...(interrupted && goesOn ? [goOnLine(snapshot, options.crawlsLeft)] : []),
    last,
  ].join('\n');
}

function nothingWords({ lanes, lanesElsewhere }: RunSnapshot): string {
  if (lanesElsewhere === 0) return 'Nothing to do: every request was finished by an earlier run.';
  if (lanes.length === 0) return 'Nothing was done here: other processes of the group work all lanes.';
  const own = lanesWords({ lanes, lanesShared: true });
  return `Nothing to do here: this process had ${own}, whose requests were finished by an earlier run.`;
}

function elsewhere({ lanes, lanesElsewhere }: RunSnapshot): string[] {
  if (lanes.length === 0 || lanesElsewhere === 0) return [];
  return [`${'Elsewhere:'.padEnd(18)}${elsewhereWords(lanesElsewhere)}.`];
}

interface Arrival {
  readonly what: string;
  readonly where: string;
}

/** The crawls there were to do, done or not, in words; undefined where none is left. */
function crawlsToDo({ totals }: RunSnapshot, left: SummaryOptions['crawlsLeft']): string | undefined {
  const ended = totals.crawlsCompleted + totals.crawlsFailed;
  const count = left === undefined ? totals.crawlsStarted : ended + left.count;
  return count > totals.crawlsCompleted ? `${left?.isExact === false ? 'about ' : ''}${countWords(count, 'crawl')}` : undefined;
}

function arrivals({ totals, changes, books }: RunSnapshot, followersTopics: readonly string[], crawlsToDo: string | undefined): Arrival[] {
  const list: Arrival[] = [];
  if (totals.crawlsCompleted > 0 || totals.pages > 0) {
    const done = groupedNumber(totals.crawlsCompleted);
    const crawls = crawlsToDo === undefined ? countWords(totals.crawlsCompleted, 'crawl') : `${done} of ${crawlsToDo}`;
    list.push({
      what: `${crawls}, ${countWords(totals.pages, 'page')}, ${countWords(totals.ids, 'id')}`,
      where: followersTopics.join(', '),
    });
  }
  if (hasChanges(changes)) list.push({ what: changesWords(changes), where: 'followers.changes' });
  if (books.found > 0 || books.missing > 0) {
    const missing = books.missing > 0 ? `, ${groupedNumber(books.missing)} not found` : '';
    list.push({
      what: `${countWords(books.found, 'book')}${missing}`,
      where: `books.records${books.missing > 0 ? ', books.missing' : ''}`,
    });
  }
  if (books.authors + books.authorBooks > 0) {
    list.push({ what: `${countWords(books.authors, 'author')}, ${countWords(books.authorBooks, 'book')}`, where: 'books.authors' });
  }
  return list;
}

function block(title: string, list: readonly Arrival[]): string[] {
  const width = list.reduce((most, one) => Math.max(most, displayWidth(one.what)), 0);
  return list.map((one, index) => {
    const before = index === 0 ? title : ' '.repeat(title.length);
    return one.where === '' ? `${before}${one.what}.` : `${before}${padWidth(one.what, width)} -> ${one.where}`;
  });
}

function requestLine({ requests, faults }: RunSnapshot, budgetUse: number | undefined): string[] {
  const total = sum(requests.followers) + sum(requests.books);
  if (total === 0) return [];
  const inFaults = faults.reduce((count, one) => count + one.count, 0);
  const refused = requests.followers['rate-limited'] + requests.books['rate-limited'];
  const pages = requests.followers.ok;
  // A book that isn't there is an answer like any other.
  const lookups = requests.books.ok + requests.books.gone;
  const rest = total - pages - lookups - inFaults;
  const parts = [
    pages > 0 ? countWords(pages, 'page') : '',
    lookups > 0 ? countWords(lookups, 'lookup') : '',
    inFaults > 0 ? `${groupedNumber(inFaults)} for faults (${faults.map((one) => faultWords(one.kind, one.count)).join(', ')})` : '',
    rest > 0 ? `${groupedNumber(rest)} answered with an error` : '',
  ].filter((part) => part !== '');
  const used = budgetUse === undefined ? '' : `Budget used ${percentWords(budgetUse)}, `;
  const refusals = refused === 0 ? 'no request refused' : `${countWords(refused, 'request')} refused for its rate`;
  const ending = `${used}${used === '' ? refusals.charAt(0).toUpperCase() + refusals.slice(1) : refusals}.`;
  return [`${countWords(total, 'request')}: ${parts.join(', ')}. ${ending}`];
}

function failedCrawls({ totals, failures }: RunSnapshot, read: (topic: string) => string): string[] {
  if (totals.crawlsFailed === 0) return [];
  const shown = failures.slice(-namedFailures).map((one) => ({ name: one.user, reason: reasonWithout(one.user, one.error) }));
  return failureLines(`${countWords(totals.crawlsFailed, 'crawl')} failed:`, shown, totals.crawlsFailed, read('followers.dead-letters'));
}

function otherDeadLetters({ totals, failures, deadLetters }: RunSnapshot, read: (topic: string) => string): string[] {
  return Object.entries(deadLetters.byTopic).flatMap(([topic, count]) => {
    // A failed crawl is told above, its dead letter with it.
    const told = topic === 'followers.dead-letters' ? totals.crawlsFailed : 0;
    const rest = count - told;
    if (rest <= 0) return [];
    const shown = deadLetters.last
      .filter((one) => one.topic === topic && !failures.some((failed) => topic.startsWith('followers.') && failed.user === one.key))
      .slice(-Math.min(namedFailures, rest))
      .map((one) => ({ name: one.key, reason: reasonWithout(one.key, one.error) }));
    return failureLines(`${countWords(rest, 'dead letter')}:`, shown, rest, read(topic));
  });
}

function failureLines(title: string, shown: readonly { name: string; reason: string }[], total: number, command: string): string[] {
  const [only] = shown;
  if (total === 1 && only !== undefined) return [`${title.padEnd(18)}${only.name}  ${withoutStop(only.reason)}: ${command}`];
  const width = shown.reduce((most, one) => Math.max(most, displayWidth(one.name)), 0);
  return [
    `${title.padEnd(18)}${command}`,
    ...shown.map((one) => `  ${padWidth(one.name, Math.min(width, 24))}  ${one.reason}`),
    ...(total > shown.length ? [`  and ${groupedNumber(total - shown.length)} more`] : []),
  ];
}

function unreachedLog({ logUnavailable, now }: RunSnapshot): string[] {
  if (logUnavailable === undefined) return [];
  const { driver, since, reason } = logUnavailable;
  const title = 'Log not reached:'.padEnd(18);
  return [
    `${title}${driver === 'kafka' ? 'kafka' : 'the file'}, for the last ${durationWords(now - since)} (${reason}): what isn't in it yet is asked for again.`,
  ];
}

function goOnLine({ crawls }: RunSnapshot, left: SummaryOptions['crawlsLeft']): string {
  const open = crawls.filter((crawl) => crawl.state === 'running');
  const named = open.slice(0, 3).map((crawl) => `${crawl.user} at page ${groupedNumber(crawl.page + 1)}`);
  // Those under way are only so many of all that wait.
  const [atLeast, count] = left === undefined ? ['at least ', open.length] : [left.isExact ? '' : 'about ', left.count];
  const more = count > named.length ? ` and ${atLeast}${groupedNumber(count - named.length)} more` : '';
  const where = named.length === 0 ? 'where this one stopped' : `with ${named.join(', ')}${more}`;
  return `${'To go on:'.padEnd(18)}run the same command again: it goes on ${where}.`;
}

function topicToRead({ totals, changes, books }: RunSnapshot, followersTopics: readonly string[]): string {
  const followers = followersTopics.at(-1);
  if (totals.pages > 0 && followers !== undefined) return followers;
  if (hasChanges(changes)) return 'followers.changes';
  if (books.found > 0) return 'books.records';
  if (books.authorBooks > 0) return 'books.authors';
  if (books.missing > 0) return 'books.missing';
  return followers ?? 'books.records';
}

function hasChanges({ followed, unfollowed }: RunSnapshot['changes']): boolean {
  return followed + unfollowed > 0;
}

function isNothing({ totals, changes, books, deadLetters, requests }: RunSnapshot): boolean {
  return (
    totals.crawlsStarted === 0 &&
    totals.crawlsFailed === 0 &&
    totals.pages === 0 &&
    !hasChanges(changes) &&
    books.found + books.missing + books.authors + books.authorBooks === 0 &&
    deadLetters.total === 0 &&
    sum(requests.followers) + sum(requests.books) === 0
  );
}

function sum(counts: OutcomeCounts): number {
  return Object.values(counts).reduce((total, count) => total + count, 0);
}

function withoutStop(text: string): string {
  return text.replace(/\.$/, '');
}
