import { heldBackEventWords } from './held-back-lanes.ts';
import { elsewhereWords, laneEventWords } from './lane-words.ts';
import { logEventWords } from './log-words.ts';
import { durationWords } from './text/duration-words.ts';
import { countWords, groupedNumber } from './text/number-words.ts';
import { safeText } from './text/safe-text.ts';
import type { Reason, RunEvent } from './run-event.ts';

/** An event in words, on one line and fit to be printed, whatever the names in it hold. */
export function eventWords(event: RunEvent): string {
  switch (event.type) {
    case 'crawl-started':
      return `${safeText(event.user)} ${event.resumed ? `goes on at page ${event.page}` : 'starts'}`;
    case 'page-written':
      return `${safeText(event.user)} page ${event.page}: ${countWords(event.ids, 'id')}`;
    case 'crawl-completed':
      return `${safeText(event.user)} done: ${countWords(event.pages, 'page')}, ${countWords(event.ids, 'id')}`;
    case 'changes-written':
      return `${safeText(event.user)} since its last crawl: ${changesWords(event)}`;
    case 'crawl-failed':
      return reasonWords(event.user, event.error);
    case 'books-queued':
      return `books: ${booksQueued(event.isbns, event.authors)} to look up`;
    case 'books-written':
      return `isbns: ${countWords(event.found, 'book')}, ${event.missing} not found`;
    case 'author-written':
      return `author ${safeText(event.author, 60)}${event.page === 1 && event.last ? '' : ` page ${event.page}`}: ${countWords(event.books, 'book')}`;
    case 'dead-letter':
      return `${reasonWords(event.key, event.error)} It is in ${safeText(event.topic)}.`;
    case 'request':
      return `${safeText(event.subject, 100)}: ${outcomeWords(event)}`;
    case 'notice':
      return safeText(event.message, 1000);
    case 'lane-opened':
    case 'lane-left':
      return laneEventWords(event);
    case 'requests-held-back':
    case 'requests-readable':
      return heldBackEventWords(event);
    case 'lanes-assigned':
      return `the group gives this process ${countWords(event.lanes, 'lane')}`;
    case 'lanes-elsewhere':
      return elsewhereWords(event.lanes);
    case 'log-unavailable':
    case 'log-available':
      return logEventWords(event);
  }
}

/** `3 followed, 1 unfollowed`. */
export function changesWords({ followed, unfollowed }: { readonly followed: number; readonly unfollowed: number }): string {
  return `${groupedNumber(followed)} followed, ${groupedNumber(unfollowed)} unfollowed`;
}

/** Why something failed, as a sentence that names whom it was about once: `@carol: the account is protected (401).` */
export function reasonWords(subject: string, error: Reason): string {
  const name = safeText(subject, 100);
  const message = safeText(error.message === '' ? error.code : error.message, 500);
  const said = names(message, name) ? message : `${name}: ${message}`;
  return /[.!?…]$/.test(said) ? said : `${said}.`;
}

/** The reason alone, for a place where the name stands already. */
export function reasonWithout(subject: string, error: Reason): string {
  const name = safeText(subject, 100);
  const message = safeText(error.message === '' ? error.code : error.message, 500);
  return message.startsWith(`${name}: `) ? message.slice(name.length + 2) : message;
}

function names(message: string, name: string): boolean {
  const at = message.indexOf(name);
  if (at < 0 || name === '') return false;
  // The user 12 is not named by "412 pages".
  return !/[\p{L}\p{N}_@]/u.test(message.charAt(at - 1)) && !/[\p{L}\p{N}_]/u.test(message.charAt(at + name.length));
}

function booksQueued(isbns: number, authors: number): string {
  const parts = [isbns > 0 ? countWords(isbns, 'ISBN') : '', authors > 0 ? countWords(authors, 'author') : ''].filter(
    (part) => part !== '',
  );
  return parts.length === 0 ? 'nothing' : parts.join(' and ');
}

function outcomeWords(event: Extract<RunEvent, { type: 'request' }>): string {
  const { subject, outcome, reason = '', status, retryInMs } = event;
  const unsaid = status === undefined ? outcome : `${outcome} (${status})`;
  const said = reason === '' ? unsaid : reasonWithout(subject, { code: outcome, message: reason });
  return retryInMs === undefined ? said : `${said.replace(/\.$/, '')}, again ${retryWords(retryInMs)}`;
}

function retryWords(retryInMs: number): string {
  return retryInMs <= 0 ? 'at once' : `in ${durationWords(retryInMs)}`;
}
