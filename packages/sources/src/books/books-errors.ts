import { SourceError } from '../source-error.ts';
import type { BooksPlan } from './options.ts';
import { type BooksQuery, subjectOf } from './query.ts';

/** The fields that the errors of one response share. No error quotes the service, because its text may contain the key. */
export interface AnsweredQuery {
  readonly query: BooksQuery;
  readonly credential: string;
  readonly status: number;
}

/** Creates the error for status 401 or 403. */
export function keyRefused({ plan, ...answered }: AnsweredQuery & { readonly plan: BooksPlan }): SourceError {
  const { credential, status } = answered;
  return booksError(answered, {
    code: 'HEADGATE_KEY_REFUSED',
    message:
      `books: the key was refused at the ${plan} address (${status}). A key works only at the address of its plan: ` +
      `set the plan option of books to the plan of the key. If it is right, renew the key of credential ${credential}.`,
  });
}

/** Creates the error for a 404 whose meaning isn't known yet. */
export function ambiguous(answered: AnsweredQuery): AmbiguousError {
  const message = `${subjectOf(answered.query)}: the books service returned 404, either at its request limit or because it doesn't know this.`;
  return new AmbiguousError(answered, message);
}

/** Creates the error for a 404 from a service that has answered everything so far with 404. */
export function nothingButNotFound(answered: AnsweredQuery): AmbiguousError {
  const message =
    `${subjectOf(answered.query)}: the books service returned 404 to everything so far. It does so at its request limit, for unknown books, ` +
    'and at a wrong base address. Check baseUrl, or retry after the limit resets.';
  return new AmbiguousError(answered, message);
}

/** Creates the error for an author whose tries were all answered with 404, but too many other requests were refused, too. */
export function undecided(answered: AnsweredQuery, { tries, answered: others, refused }: Tally): AmbiguousError {
  const message =
    `${subjectOf(answered.query)}: ${tries} ${tries === 1 ? 'request was' : 'requests were'} answered with 404, so the service may not know ` +
    `this author. But meanwhile ${refused} of ${others + refused} other requests were refused, so it may also be the request limit. ` +
    'Retry when no other program uses the key.';
  return new AmbiguousError(answered, message);
}

/** Creates the error for a book that the service doesn't know. */
export function bookNotFound({ isbn, credential }: { readonly isbn: string; readonly credential: string | undefined }): SourceError {
  const message = `${isbn}: the books service doesn't know this book (404). If the ISBN is right, try another day.`;
  return new SourceError({
    code: 'HEADGATE_BOOK_NOT_FOUND',
    message,
    retryable: false,
    service: 'books',
    credential,
    subject: isbn,
    status: 404,
  });
}

/** Creates the error for an author that the service doesn't know. */
export function authorNotFound({ name, credential }: { readonly name: string; readonly credential: string | undefined }): SourceError {
  const message = `${name}: the books service doesn't know this author (404). Try another spelling of the name.`;
  return new SourceError({
    code: 'HEADGATE_AUTHOR_NOT_FOUND',
    message,
    retryable: false,
    service: 'books',
    credential,
    subject: name,
    status: 404,
  });
}

/** Creates the error for status 400, 413 or 422 in response to a batch. */
export function batchRefused({ maxBatch, ...answered }: AnsweredQuery & { readonly maxBatch: number }): SourceError {
  return booksError(answered, {
    code: 'HEADGATE_BATCH_REFUSED',
    message:
      `books: the service refused a batch of ${subjectOf(answered.query)} (${answered.status}). The maximum depends on the plan: ` +
      `set maxBatch below its current ${maxBatch}.`,
  });
}

/** Creates the error for any other status that a retry can't help. */
export function unexpectedStatus(answered: AnsweredQuery): SourceError {
  return booksError(answered, {
    code: 'HEADGATE_UNEXPECTED_STATUS',
    message: `${subjectOf(answered.query)}: the books service returned ${answered.status}, so a retry won't help. Check baseUrl.`,
  });
}

/** Creates the error for a book's record that is unreadable or doesn't match the request. */
export function invalidRecord({ flaw, ...answered }: AnsweredQuery & { readonly flaw: string }): SourceError {
  return booksError(answered, {
    code: 'HEADGATE_INVALID_RECORD',
    message: `${subjectOf(answered.query)}: the books service sent a record that ${flaw}. Headgate discarded it; try another day.`,
  });
}

/** A 404, which the service uses at its request limit and for what it doesn't know. */
export class AmbiguousError extends SourceError {
  readonly query: BooksQuery;

  constructor({ query, credential, status }: AnsweredQuery, message: string) {
    super({ code: 'HEADGATE_AMBIGUOUS', message, retryable: true, service: 'books', credential, subject: subjectOf(query), status });
    this.query = query;
  }
}

/** The requests of an undecided trial: its tries, and the other requests meanwhile that were answered or refused. */
export interface Tally {
  readonly tries: number;
  readonly answered: number;
  readonly refused: number;
}

interface Said {
  readonly code: `HEADGATE_${string}`;
  readonly message: string;
}

function booksError({ query, credential, status }: AnsweredQuery, said: Said): SourceError {
  return new SourceError({ ...said, retryable: false, service: 'books', credential, subject: subjectOf(query), status });
}
