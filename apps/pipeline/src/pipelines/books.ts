import { createHash } from 'node:crypto';
import { apiKey } from '@headgate/auth';
import { InvalidIsbnError, normalizeIsbn } from '@headgate/operators';
import {
  type DefinedPipeline,
  type LookupOutcome,
  PipelineError,
  type RecordMakers,
  definePipeline,
  lookup,
  route,
  secret,
  topic,
  walk,
} from '@headgate/pipeline';
import {
  AUTHOR_PAGE_SIZE,
  type AuthorCheckpoint,
  type BookAnswer,
  books as booksSource,
  type UnreadableBook,
} from '@headgate/sources/books';
import { SourceError } from '@headgate/sources';
import { z } from 'zod';
import { shown } from '../config/problem.ts';
import { type BooksRequest, booksRequest } from '../records/requests.ts';
import { recordSchemas } from '../records/schemas.ts';
import { httpOptions, sourceOptions } from './http-options.ts';

const booksTopics = {
  records: topic({ value: recordSchemas['books.records'] }),
  authors: topic({ value: recordSchemas['books.authors'] }),
  missing: topic({ value: recordSchemas['books.missing'] }),
};

const options = z.strictObject({
  ...httpOptions,
  plan: z.enum(['default', 'premium', 'pro']).default('default').describe('1, 3 or 5 requests a second.'),
  key: secret().describe('The API key of that plan.'),
  maxBatch: z.int().positive().default(100).describe('Most ISBNs of one request.'),
  perDay: z
    .strictObject({ isbns: z.int().positive(), resetsAt: z.string().default('00:00'), zone: z.string().default('UTC') })
    .exactOptional()
    .describe('A quota of ISBNs a day.'),
  isbns: z.array(z.string()).default([]).describe('ISBNs to look up; malformed ones become dead letters.'),
  authors: z.array(z.string()).default([]).describe('Authors whose books are listed.'),
  pageSize: z.int().min(1).max(1_000).default(AUTHOR_PAGE_SIZE).describe("Books of a page of an author's."),
  maxPages: z.int().positive().default(500).describe('Most pages of an author.'),
});

function isbnKey(text: string): string {
  try {
    return normalizeIsbn(text);
  } catch {
    // A text that is no ISBN becomes a dead letter under its own spelling.
    return text;
  }
}

function isbnOf(line: string): string {
  try {
    return normalizeIsbn(line);
  } catch (cause) {
    if (!(cause instanceof InvalidIsbnError)) throw cause;
    const message = `${shown(line)} is not an ISBN: ${cause.reason}.`;
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: 'books', cause });
  }
}

function keyOf(request: BooksRequest): string {
  if ('author' in request) return request.author;
  if ('isbn' in request) return isbnKey(request.isbn);
  return isbnKey(request.isbns[0] ?? '');
}

/** Books by ISBN in batches, and authors with all their books. */
export const books: DefinedPipeline<typeof options> = definePipeline({
  name: 'books',
  options,
  request: booksRequest,
  topics: booksTopics,
  unit: 'books',
  keyOf,
  parse: (line) => ({ isbn: isbnOf(line) }),
  check(request) {
    if ('isbn' in request) normalizeIsbn(request.isbn);
  },
  listed: ({ isbns, authors }) => [...isbns.map((isbn) => ({ isbn })), ...authors.map((author) => ({ author }))],
  agreed: ({ plan, perDay }) => ({ plan, ...(perDay !== undefined && { perDay: { ...perDay } }) }),
  open(given, io) {
    const { plan, key, perDay } = given;
    // A batch that a day has no room for would never go.
    const maxBatch = Math.min(given.maxBatch, perDay?.isbns ?? Infinity);
    const source = booksSource({
      ...sourceOptions(given),
      ...io,
      plan,
      // The same name under every plan: another plan's window goes on with the key.
      credentials: [{ name: 'key', signer: apiKey(key) }],
      maxBatch,
      ...(perDay !== undefined && { perDay }),
    });
    return route((request: BooksRequest) => ('author' in request ? ['author', request] : ['isbns', request]), {
      isbns: lookup({
        source,
        keys: (request) => ('isbn' in request ? [request.isbn] : request.isbns),
        normalize: normalizeIsbn,
        requestOf: (keys) => (keys.length === 1 && keys[0] !== undefined ? { isbn: keys[0] } : { isbns: keys }),
        ask: (api, isbns, asking) => api.batch(isbns, asking),
        size: maxBatch,
        room: (api) => api.gauges().leftToday ?? Infinity,
        records: (answers, { asked, topics }) => outcome(answers, asked, topics),
      }),
      author: walk({
        source,
        pages: (api, request, from) => {
          const { author, page = 1, pageSize = given.pageSize } = request;
          const checkpoint = from === undefined ? undefined : authorCheckpoint.parse(from);
          return api.authorPages(author, { page, pageSize, maxPages: given.maxPages, from: checkpoint });
        },
        records({ author, page, last, mayBeCut, record }, { topics, warn }) {
          if (mayBeCut) {
            warn(
              `${author}: the service sent page ${page - 1} of the author's books again for page ${page}, ` +
                'so that nobody can tell whether there are more. If there are, a larger books.pageSize shows them.',
            );
          }
          return [topics.authors({ key: author, value: { author, page, last, record }, id: String(page) })];
        },
        checkpoint: ({ checkpoint }) => checkpoint && { ...checkpoint },
        resumeAt(request, from) {
          const { page, pageSize } = authorCheckpoint.parse(from);
          return { ...request, page, pageSize };
        },
        items: ({ record }) => record.books.length,
        smallerBy: 'lower books.pageSize',
      }),
    });
  },
});

/** As the lane's state gives it back. */
const authorCheckpoint: z.ZodType<AuthorCheckpoint> = z.object({
  page: z.int(),
  first: z.int(),
  pageSize: z.int(),
  full: z.int(),
  seen: z.array(z.string()),
});

/** The records of a batch's answers. Where the answers hold records that name no ISBN, none of the ISBNs is known to be missing. */
function outcome(
  answers: readonly BookAnswer[],
  asked: readonly { readonly key: string }[],
  topics: RecordMakers<typeof booksTopics>,
): LookupOutcome {
  const byIsbn = new Map(answers.filter(({ kind }) => kind !== 'unreadable').map((answer) => [answer.isbn ?? answer.asked, answer]));
  const unreadable = answers.filter((answer): answer is UnreadableBook => answer.kind === 'unreadable');
  const records: LookupOutcome['records'][number][] = [];
  const deadLetters: NonNullable<LookupOutcome['deadLetters']>[number][] = [];
  for (const [index, { key: isbn }] of asked.entries()) {
    const answer = byIsbn.get(isbn);
    switch (answer?.kind) {
      case 'found':
        records.push({ asked: index, record: topics.records({ key: isbn, value: { isbn, record: answer.record } }) });
        break;
      case 'missing':
      case undefined:
        if (unreadable.length > 0) deadLetters.push({ asked: index, error: perhapsThere(isbn, unreadable.length) });
        else records.push({ asked: index, record: topics.missing({ key: isbn, value: { isbn } }) });
        break;
      case 'invalid':
        deadLetters.push({ asked: index, error: answer.error });
        break;
      case 'unreadable':
        break;
    }
  }
  for (const { id, record, error } of withIds(unreadable)) {
    deadLetters.push({ asked: 0, error: ofNone(error, asked.length), part: { id, record } });
  }
  return { records, deadLetters };
}

/** A record that comes again after a crash has the same id. */
function withIds(unreadable: readonly UnreadableBook[]): (Pick<UnreadableBook, 'record' | 'error'> & { readonly id: string })[] {
  const alike = new Map<string, number>();
  return unreadable.map(({ record, error }) => {
    const hash = createHash('sha256').update(JSON.stringify(record)).digest('base64url').slice(0, 22);
    const nth = (alike.get(hash) ?? 0) + 1;
    alike.set(hash, nth);
    return { record, error, id: nth === 1 ? `record/${hash}` : `record/${hash}/${nth}` };
  });
}

function perhapsThere(isbn: string, unreadable: number): SourceError {
  const records = unreadable === 1 ? 'a record that names' : `${unreadable} records that name`;
  const message =
    `${isbn}: no record names it, but its batch had ${records} no ISBN, so nobody can say that it is missing. ` +
    'Ask again with `headgate replay books.dead-letters`; with books.maxBatch: 1 it is asked for alone.';
  return new SourceError({ code: 'HEADGATE_INVALID_RECORD', message, retryable: true, service: 'books', subject: isbn });
}

/** The source reports the other ISBNs as missing; a run does not. */
function ofNone({ code, retryable }: SourceError, asked: number): SourceError {
  const message =
    `books: a record in the answer for ${asked} ISBNs is no object or names no ISBN, so it can't be laid to any of them. ` +
    'The others were read; those ISBNs that no record names are dead letters too, and can be put back with `headgate replay`.';
  return new SourceError({ code, message, retryable, service: 'books' });
}
