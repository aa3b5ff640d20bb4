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

/** Creates the error for a 404. The service also uses 404 for rate limits, so `classifyBooks` may report this error as ambiguous. */
export function notFound(answered: AnsweredQuery): SourceError {
  const { query } = answered;
  if (query.kind === 'book') {
    const message = `${query.isbn.isbn}: the books service doesn't know this book (404). If the ISBN is right, try another day.`;
    return booksError(answered, { code: 'HEADGATE_BOOK_NOT_FOUND', message });
  }
  if (query.kind === 'author') {
    const message = `${query.name}: the books service doesn't know this author (404). Try another spelling of the name.`;
    return booksError(answered, { code: 'HEADGATE_AUTHOR_NOT_FOUND', message });
  }
  const message = `books: the service returned 404 for a batch of ${subjectOf(query)}. Check that baseUrl is the address of your plan.`;
  return booksError(answered, { code: 'HEADGATE_BATCH_NOT_FOUND', message });
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

interface Said {
  readonly code: `HEADGATE_${string}`;
  readonly message: string;
}

function booksError({ query, credential, status }: AnsweredQuery, said: Said): SourceError {
  return new SourceError({ ...said, retryable: false, service: 'books', credential, subject: subjectOf(query), status });
}
