import { SourceError } from '../source-error.ts';
import type { BooksPlan } from './options.ts';

/** The fields that the errors of one response share. No error quotes the service, because its text may contain the key. */
export interface Answered {
  /** The ISBN, author or batch that was requested. */
  readonly subject: string;
  readonly credential: string | undefined;
  readonly status: number;
}

/** Creates the error for status 401 or 403. */
export function keyRefused(answered: Answered, plan: BooksPlan): SourceError {
  const { credential, status } = answered;
  const message =
    `books: the key was refused at the ${plan} address (${status}). A key works only at the address of its plan: ` +
    `set the plan option of books to the plan of the key. If it is right, renew the key of credential ${credential}.`;
  return booksError('HEADGATE_KEY_REFUSED', message, answered);
}

/** Creates the error for a 404 whose meaning isn't known yet. */
export function ambiguous(answered: Answered): SourceError {
  const message = `${answered.subject}: the books service returned 404, either at its request limit or because it doesn't know this.`;
  return booksError('HEADGATE_AMBIGUOUS', message, answered);
}

/** Creates the error for a 404 from a service that has answered everything so far with 404. */
export function nothingButNotFound(answered: Answered): SourceError {
  const message =
    `${answered.subject}: the books service returned 404 to everything so far. It does so at its request limit, for unknown books, ` +
    'and at a wrong base address. Check baseUrl, or retry after the limit resets.';
  return booksError('HEADGATE_AMBIGUOUS', message, answered);
}

/**
 * Creates the error for an author whose tries were all answered with 404, but too many other requests were refused, too. `others` and
 * `refused`: the number of other requests meanwhile that were answered and refused.
 */
export function undecided(answered: Answered, tries: number, others: number, refused: number): SourceError {
  const message =
    `${answered.subject}: ${tries} ${tries === 1 ? 'request was' : 'requests were'} answered with 404, so the service may not know ` +
    `this author. But meanwhile ${refused} of ${others + refused} other requests were refused, so it may also be the request limit. ` +
    'Retry when no other program uses the key.';
  return booksError('HEADGATE_AMBIGUOUS', message, answered);
}

/** Creates the error for a book that the service doesn't know. */
export function bookNotFound(subject: string, credential: string | undefined): SourceError {
  const message = `${subject}: the books service doesn't know this book (404). If the ISBN is right, try another day.`;
  return booksError('HEADGATE_BOOK_NOT_FOUND', message, { subject, credential, status: 404 });
}

/** Creates the error for an author that the service doesn't know. */
export function authorNotFound(subject: string, credential: string): SourceError {
  const message = `${subject}: the books service doesn't know this author (404). Try another spelling of the name.`;
  return booksError('HEADGATE_AUTHOR_NOT_FOUND', message, { subject, credential, status: 404 });
}

/** Creates the error for status 400, 413 or 422 in response to a batch. */
export function batchRefused(answered: Answered, maxBatch: number): SourceError {
  const message =
    `books: the service refused a batch of ${answered.subject} (${answered.status}). The maximum depends on the plan: ` +
    `set maxBatch below its current ${maxBatch}.`;
  return booksError('HEADGATE_BATCH_REFUSED', message, answered);
}

/** Creates the error for any other status that a retry can't help. */
export function unexpectedStatus(answered: Answered): SourceError {
  const message = `${answered.subject}: the books service returned ${answered.status}, so a retry won't help. Check baseUrl.`;
  return booksError('HEADGATE_UNEXPECTED_STATUS', message, answered);
}

/** Creates the error for a book's record that is unreadable or doesn't match the request. */
export function invalidRecord(answered: Answered, flaw: string): SourceError {
  const message = `${answered.subject}: the books service sent a record that ${flaw}. Headgate discarded it; try another day.`;
  return booksError('HEADGATE_INVALID_RECORD', message, answered);
}

/** Creates the error for an invalid option. `what`: the option, and its valid values. */
export function invalidOption(what: string, cause?: unknown): SourceError {
  return booksError('HEADGATE_INVALID_OPTION', `books: ${what}.`, { cause });
}

/** Creates an error of the books service. Only a 404 that may be the limit is worth a retry. */
export function booksError(
  code: `HEADGATE_${string}`,
  message: string,
  about: Partial<Answered> & { readonly cause?: unknown },
): SourceError {
  return new SourceError({ ...about, code, message, retryable: code === 'HEADGATE_AMBIGUOUS', service: 'books' });
}
