import { describe, expect, it } from 'vitest';
import { createRunModel } from './run-model.ts';
import { summaryText } from './summary-text.ts';
import { virtualClock } from './virtual-clock.fixture.ts';
import type { RunEvent } from './run-event.ts';
import type { RunSnapshot } from './run-snapshot.ts';

const protectedAccount = { code: 'HEADGATE_UNAUTHORIZED', message: '@carol: the account is protected (401 "Not authorized.").' };

function after(events: readonly RunEvent[], elapsedMs = 134_000): RunSnapshot {
  const clock = virtualClock();
  const model = createRunModel({ clock });
  for (const event of events) model.apply(event);
  clock.pass(elapsedMs);
  return model.snapshot();
}

function crawl(user: string, pages: number, ids: number): RunEvent[] {
  const about = { user, crawl: `crawl of ${user}` };
  return [
    { type: 'crawl-started', ...about, page: 1, resumed: false },
    ...Array.from({ length: pages }, (_, index): RunEvent[] => [
      { type: 'request', service: 'followers', credential: 'app', outcome: 'ok', subject: user },
      { type: 'page-written', ...about, page: index + 1, ids, credential: 'app' },
    ]).flat(),
    { type: 'crawl-completed', ...about, pages, ids: pages * ids },
  ];
}

function fault(more: { readonly status?: number; readonly reason?: string }): RunEvent {
  return { type: 'request', service: 'followers', credential: 'app', outcome: 'transient', subject: '@alpha', ...more };
}

function failed(user: string, error = protectedAccount): RunEvent[] {
  return [
    { type: 'request', service: 'followers', credential: 'app', outcome: 'unauthorized', subject: user, status: 401 },
    { type: 'crawl-failed', user, crawl: user, error },
    { type: 'dead-letter', topic: 'followers.dead-letters', key: user, error },
  ];
}

const books: readonly RunEvent[] = [
  { type: 'books-queued', isbns: 2400, authors: 2 },
  { type: 'request', service: 'books', credential: 'pro', outcome: 'ok', subject: 'isbns' },
  { type: 'books-written', found: 2388, missing: 12 },
  { type: 'author-written', author: 'Zoë', page: 1, last: true, books: 7 },
  { type: 'author-written', author: 'Åke', page: 1, last: true, books: 5 },
];

describe('the end of a run', () => {
  it('says who followed and unfollowed, also where that is all that was done', () => {
    const changes: RunEvent = { type: 'changes-written', user: '@alpha', crawl: 'c2', followed: 1_200, unfollowed: 3 };
    expect(summaryText({ snapshot: after([...crawl('@alpha', 1, 10), changes]) })).toMatch(
      /1 crawl, 1 page, 10 ids +-> followers\.pages\n +1,200 followed, 3 unfollowed -> followers\.changes\n/,
    );
    const alone = summaryText({ snapshot: after([changes]), followersTopics: ['followers.pages', 'followers.ids'] });
    expect(alone).toMatch(/^Done in .*1,200 followed, 3 unfollowed -> followers\.changes\nRead it: +headgate read followers\.changes /);
  });

  it('says what arrived, where it is, what it cost, what failed, and how to read it', () => {
    const snapshot = after([
      ...crawl('@alpha', 412, 5000),
      ...crawl('@beta', 3, 10),
      ...books,
      ...Array.from({ length: 12 }, () => fault({ reason: 'the connection was reset' })),
      ...Array.from({ length: 8 }, () => fault({ status: 503 })),
      ...failed('@carol'),
    ]);
    expect(summaryText({ snapshot, followersTopics: ['followers.pages', 'followers.ids'], budgetUse: 0.9994 }).split('\n')).toEqual([
      'Done in 2 m 14 s: 2 crawls, 415 pages, 2.06 M ids -> followers.pages, followers.ids',
      '                  2,388 books, 12 not found       -> books.records, books.missing',
      '                  2 authors, 12 books             -> books.authors',
      '437 requests: 415 pages, 1 lookup, 20 for faults (12 resets, 8 times 503), 1 answered with an error. Budget used 99.9 %, no request refused.',
      '1 crawl failed:   @carol  the account is protected (401 "Not authorized."): headgate read followers.dead-letters',
      'Read it:          headgate read followers.ids --max 10',
    ]);
  });

  it('says that other lanes were worked elsewhere, and does not take their requests for finished', () => {
    const elsewhere: RunEvent = { type: 'lanes-elsewhere', lanes: 1 };
    const own: RunEvent = { type: 'lane-opened', service: 'followers', lane: 1 };
    expect(summaryText({ snapshot: after([own, elsewhere]) })).toContain(
      'Nothing to do here: this process had lanes 1, whose requests were finished by an earlier run.\nElsewhere:        1 other lane is worked by other processes of the group.\n',
    );
    expect(summaryText({ snapshot: after([own, ...crawl('@alpha', 1, 5), { ...elsewhere, lanes: 3 }]) })).toContain(
      '\nElsewhere:        3 other lanes are worked by other processes of the group.\n',
    );
    expect(summaryText({ snapshot: after([{ ...elsewhere, lanes: 2 }]) })).toMatch(
      /^Nothing was done here: other processes of the group work all lanes\.$/m,
    );
  });

  it('says which requests were refused', () => {
    const snapshot = after([
      ...crawl('@alpha', 1, 5),
      { type: 'request', service: 'followers', credential: 'app', outcome: 'rate-limited', subject: '@alpha' },
    ]);
    expect(summaryText({ snapshot })).toContain('2 requests: 1 page, 1 for faults (1 time 429). 1 request refused for its rate.');
  });

  it('names several failures, each with its reason, and the dead letters that were no crawl', () => {
    const events = Array.from({ length: 12 }, (_, index) => failed(`@gone${index}`, { code: 'X', message: 'no such user (404)' })).flat();
    const malformed = { code: 'HEADGATE_ISBN', message: 'not an ISBN: its check digit is wrong' };
    const snapshot = after([...events, { type: 'dead-letter', topic: 'books.dead-letters', key: '9780000000000', error: malformed }]);
    const lines = summaryText({ snapshot, readCommand: (topic) => `npm run headgate -- read ${topic}` }).split('\n');
    expect(lines[0]).toBe('Done in 2 m 14 s: nothing was written.');
    expect(lines[2]).toBe('12 crawls failed: npm run headgate -- read followers.dead-letters');
    expect(lines.slice(3, 13)).toEqual(Array.from({ length: 10 }, (_, index) => `  ${`@gone${index + 2}`.padEnd(7)}  no such user (404)`));
    expect(lines[13]).toBe('  and 2 more');
    expect(lines[14]).toBe(
      '1 dead letter:    9780000000000  not an ISBN: its check digit is wrong: npm run headgate -- read books.dead-letters',
    );
  });

  it('says when there was nothing to do', () => {
    expect(summaryText({ snapshot: after([{ type: 'notice', level: 'info', message: 'x' }]) }).split('\n')).toEqual([
      'Nothing to do: every request was finished by an earlier run.',
      'Read it:          headgate read followers.pages --max 10',
    ]);
    expect(summaryText({ snapshot: after(failed('@carol')) })).not.toContain('Nothing to do');
  });

  it('says where it stopped and how to go on', () => {
    const started: RunEvent = { type: 'crawl-started', user: '@beta', crawl: 'b', page: 12, resumed: true };
    const snapshot = after(
      [...crawl('@alpha', 2, 10), started, { type: 'page-written', user: '@beta', crawl: 'b', page: 12, ids: 7, credential: 'app' }],
      3000,
    );
    expect(summaryText({ snapshot, interrupted: true }).split('\n')).toEqual([
      'Stopped after 3 s: 1 of 2 crawls, 3 pages, 27 ids -> followers.pages',
      '2 requests: 2 pages. No request refused.',
      'To go on:         run the same command again: it goes on with @beta at page 13.',
      'Read it:          headgate read followers.pages --max 10',
    ]);
    expect(summaryText({ snapshot: after([], 3000), interrupted: true })).toContain('Stopped after 3 s: nothing was written.');
  });

  it('counts what is left in the log, not what was under way, and says so where it could not be counted', () => {
    const started = Array.from({ length: 500 }, (_, i): RunEvent => {
      return { type: 'crawl-started', user: `@user_${i}`, crawl: `${i}`, page: 1, resumed: false };
    });
    const snapshot = after([...crawl('@alpha', 2, 10), ...started], 3000);
    const lines = (count?: number, isExact = true): string[] => {
      const crawlsLeft = count === undefined ? undefined : { count, isExact };
      return summaryText({ snapshot, interrupted: true, crawlsLeft }).split('\n');
    };
    const named = 'it goes on with @user_0 at page 1, @user_1 at page 1, @user_2 at page 1 and';
    expect(lines(99_985)[0]).toContain('1 of 99,986 crawls, 2 pages');
    expect(lines(99_985).at(-2)).toContain(`${named} 99,982 more.`);
    expect(lines(99_985, false)[0]).toContain('1 of about 99,986 crawls, 2 pages');
    expect(lines(99_985, false).at(-2)).toContain(`${named} about 99,982 more.`);
    expect(lines()[0]).toContain('1 of 501 crawls, 2 pages');
    expect(lines().at(-2)).toContain(`${named} at least 497 more.`);
  });

  it('does not say that the same command goes on where it does not', () => {
    const snapshot = after(crawl('@alpha', 1, 5), 3000);
    expect(summaryText({ snapshot, interrupted: true })).toContain('To go on:');
    expect(summaryText({ snapshot, interrupted: true, goesOn: false })).not.toContain('To go on:');
  });

  it('says that the log was away at the end, and only then', () => {
    const away: RunEvent = { type: 'log-unavailable', driver: 'kafka', reason: 'connect ECONNREFUSED 127.0.0.1:9092' };
    const line =
      "Log not reached:  kafka, for the last 3 s (connect ECONNREFUSED 127.0.0.1:9092): what isn't in it yet is asked for again.";
    const lines = summaryText({ snapshot: after([...crawl('@alpha', 1, 5), away], 3000), interrupted: true }).split('\n');
    expect(lines.at(-3)).toBe(line);
    const nothing = summaryText({ snapshot: after([away], 3000) });
    expect(nothing).toContain(line);
    expect(nothing).not.toContain('Nothing to do');
    expect(summaryText({ snapshot: after([away, { type: 'log-available', driver: 'kafka' }]) })).not.toContain('kafka');
  });

  it('points at what there is to read', () => {
    expect(summaryText({ snapshot: after(books) })).toContain('headgate read books.records --max 10');
  });

  it('lets no control character of a name through', () => {
    const name = '@x\u001B[2J\u009B1m\n';
    const snapshot = after([
      ...failed(name, { code: 'X', message: name }),
      { type: 'dead-letter', topic: 'books.dead-letters', key: name, error: { code: name, message: name } },
    ]);
    expect(summaryText({ snapshot }).replaceAll('\n', '')).not.toMatch(/\p{Cc}/u);
  });
});
