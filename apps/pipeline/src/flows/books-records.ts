import type { AuthorPage } from '@headgate/sources/books';
import type { NewRecord } from '@headgate/topics';
import { TOPICS } from '../records/topic-names.ts';
import { cloudEventHeaders } from './cloud-event.ts';

interface BookRecordOptions {
  readonly partition: number;
  /** Of the wish: `<requests topic>-<partition>-<offset>`. */
  readonly request: string;
  readonly isbn: string;
}

/** The record of a book, as the service sent it. */
export function bookRecord({ partition, request, isbn }: BookRecordOptions, record: unknown): NewRecord {
  const headers = cloudEventHeaders({ topic: TOPICS.booksRecords, id: `${request}/${isbn}` });
  return { topic: TOPICS.booksRecords, partition, key: isbn, value: JSON.stringify({ isbn, record }), headers };
}

/** The record of an ISBN that the service doesn't know. */
export function missingRecord({ partition, request, isbn }: BookRecordOptions): NewRecord {
  const headers = cloudEventHeaders({ topic: TOPICS.booksMissing, id: `${request}/${isbn}` });
  return { topic: TOPICS.booksMissing, partition, key: isbn, value: JSON.stringify({ isbn }), headers };
}

/** The record of a page of an author's books, as the service sent it. */
export function authorRecord({ partition, request }: Omit<BookRecordOptions, 'isbn'>, answer: AuthorPage): NewRecord {
  const { author, page, last, record } = answer;
  const headers = cloudEventHeaders({ topic: TOPICS.booksAuthors, id: `${request}/${page}` });
  return { topic: TOPICS.booksAuthors, partition, key: author, value: JSON.stringify({ author, page, last, record }), headers };
}
