import type { Answer } from '../http/answer.ts';
import { jsonAnswer } from '../http/answer.ts';
import { authorBooks, bookRecord } from './book-records.ts';
import type { CatalogueRecord } from './book-records.ts';
import type { BooksRequest } from './books-request.ts';
import { toIsbn13 } from './isbn.ts';
import { shuffled } from '../seeded-random.ts';

export interface Catalogue {
  readonly isUnknown: (isbnOrAuthor: string) => boolean;
  readonly maxBatch: number;
  /** Body of a 404 for something unknown. */
  readonly unknown404Body: string;
  /** True if a batch of unknown ISBNs only gets a 404. */
  readonly isUnknownBatch404: boolean;
  readonly seed: number;
  /** Returns random numbers, which decide the order of a batch's records. */
  readonly random: () => number;
}

/** Creates the response to a request that no limit has refused. */
export function catalogueAnswer(catalogue: Catalogue, request: BooksRequest): Answer {
  const { isUnknown, maxBatch, unknown404Body, isUnknownBatch404, seed, random } = catalogue;
  const notFound = (): Answer => jsonAnswer(404, unknown404Body);
  const recordOf = (asked: string): CatalogueRecord | undefined => {
    const isbn13 = toIsbn13(asked);
    return isbn13 === undefined || isUnknown(isbn13) ? undefined : bookRecord({ isbn13, seed });
  };
  // Each case assigns its response instead of returning it, so that the compiler proves that every kind has one.
  let answer: Answer;
  switch (request.kind) {
    case 'other':
      answer = booksMessage(404, 'No such resource: GET /book/{isbn}, GET /author/{name}, POST /books');
      break;
    case 'malformed':
      answer = booksMessage(400, request.reason);
      break;
    case 'book': {
      const book = recordOf(request.isbns[0]);
      answer = book === undefined ? notFound() : jsonAnswer(200, JSON.stringify({ book }));
      break;
    }
    case 'author':
      answer = isUnknown(request.author) ? notFound() : authorAnswer(request, seed);
      break;
    case 'batch': {
      const { isbns } = request;
      const distinct = [...new Set(isbns.map((isbn) => toIsbn13(isbn) ?? isbn))];
      const known = distinct.map(recordOf).filter((record) => record !== undefined);
      answer =
        isbns.length > maxBatch
          ? booksMessage(400, `${isbns.length} ISBNs in one request; the maximum is ${maxBatch}`)
          : known.length === 0 && isUnknownBatch404
            ? notFound()
            : batchAnswer(isbns.length, shuffled(known, random));
      break;
    }
  }
  return answer;
}

function authorAnswer(request: Extract<BooksRequest, { kind: 'author' }>, seed: number): Answer {
  const { author, page, pageSize } = request;
  const books = authorBooks({ name: author, seed }).slice((page - 1) * pageSize, page * pageSize);
  return jsonAnswer(200, JSON.stringify({ author: encodeURIComponent(author), books }));
}

function batchAnswer(requested: number, data: readonly CatalogueRecord[]): Answer {
  return jsonAnswer(200, JSON.stringify({ total: data.length, requested, data }));
}

export function booksMessage(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Answer {
  return jsonAnswer(status, JSON.stringify({ message: text }), headers);
}
