import { createHash } from 'node:crypto';
import { apiKey } from '@headgate/auth';
import { isIsbn, normalizeIsbn, OperatorError } from '@headgate/operators';
import {
  type DefinedPipeline,
  type LookupOutcome,
  PipelineError,
  type PipelineIo,
  type RecordMakers,
  type OptionIssue,
  definePipeline,
  lookup,
  route,
  secret,
  split,
  topic,
  walk,
} from '@headgate/pipeline';
import { httpOptions, plainHttpWarning, sourceOptions, timeOfDay, timeZone } from '@headgate/pipeline/internal';
import {
  AUTHOR_PAGE_SIZE,
  authorFlaw,
  authorPaging,
  type BookAnswer,
  books as booksSource,
  type UnreadableBook,
} from '@headgate/sources/books';
import { SourceError } from '@headgate/sources';
import * as z from 'zod';
import { address } from '../config/address.ts';
import { quoted, shownNumber } from '../config/problem.ts';
import { type BooksRequest, booksRequest } from '../records/requests.ts';
import { recordSchemas } from '../records/schemas.ts';

const booksTopics = {
  records: topic({ value: recordSchemas['books.records'] }),
  authors: topic({ value: recordSchemas['books.authors'] }),
  missing: topic({ value: recordSchemas['books.missing'] }),
};

const PLANS = ['default', 'premium', 'pro'] as const;
const ADDRESS = 'https://books.example.com';

const options = z
  .strictObject({
    plan: z.enum(PLANS).default('default').describe('Plan of the key: 1, 3 or 5 requests per second.'),
    baseUrl: address(ADDRESS).exactOptional().describe("Base address of the plan's service, optionally with a path."),
    baseUrls: z
      .strictObject({
        default: address(ADDRESS).exactOptional().describe('Address for the default plan.'),
        premium: address(ADDRESS).exactOptional().describe('Address for the premium plan.'),
        pro: address(ADDRESS).exactOptional().describe('Address for the pro plan.'),
      })
      .exactOptional()
      .describe('Addresses by plan, instead of baseUrl.')
      .meta({ examples: [{ default: ADDRESS }] }),
    key: secret()
      .describe("API key. It works only at its plan's address.")
      .meta({ examples: ['${BOOKS_KEY}'] }),
    isbns: z
      .array(z.string().trim().min(1))
      .default([])
      .describe('ISBNs to look up. Malformed ones become dead letters.')
      .meta({ examples: [['9780792712305', { file: 'isbns.txt' }]] }),
    authors: z
      .array(
        z
          .string()
          .trim()
          .superRefine((name, context) => {
            const flaw = authorFlaw(name);
            if (flaw !== undefined) context.addIssue({ code: 'custom', message: `${flaw}. Write another name, or remove it.` });
          }),
      )
      .default([])
      .describe('Authors whose books to list.')
      .meta({ examples: [['Charlotte Vale Allen', { file: 'authors.txt' }]] }),
    perDay: z
      .strictObject({
        isbns: z
          .int()
          .positive()
          .describe('Maximum ISBNs and author pages per day.')
          .meta({ examples: [5_000] }),
        resetsAt: timeOfDay().default('00:00').describe('Time of day at which the daily limit resets.'),
        zone: timeZone().default('UTC').describe('Time zone of `resetsAt`.'),
      })
      .exactOptional()
      .describe('Daily limit, if the service has one.')
      .meta({ examples: [{ isbns: 5_000, resetsAt: '00:00', zone: 'UTC' }] }),
    maxBatch: z.int().positive().default(100).describe('Maximum ISBNs per request.'),
    pageSize: z
      .int()
      .min(1)
      .max(1_000)
      .exactOptional()
      .describe('Books per page when listing an author. Each page is one request. Default: 100, or maxOutstanding if that is less.')
      .meta({ examples: [AUTHOR_PAGE_SIZE] }),
    maxPages: z
      .int()
      .positive()
      .default(500)
      .describe('Maximum pages per author. Then the job becomes a dead letter; `headgate replay` resumes it.'),
    ...httpOptions,
  })
  .superRefine((given, context) => {
    const refuse = (key: string, message: string): void => context.addIssue({ code: 'custom', path: [key], message });
    const { plan, baseUrl, baseUrls, maxBatch, pageSize = 1 } = given;
    const maxOutstanding = maxOutstandingOf(given);
    if (baseUrl !== undefined && baseUrls !== undefined) refuse('baseUrl', "can't be combined with baseUrls. Keep one of them.");
    else if (baseUrl === undefined && baseUrls === undefined)
      context.addIssue({ code: 'custom', path: ['baseUrl'], message: 'is missing.', params: { code: 'missing' } });
    else if (baseUrls !== undefined && baseUrls[plan] === undefined) {
      refuse('baseUrls', `has no address for the ${plan} plan. Add ${plan}: ${ADDRESS}, or choose another plan.`);
    }
    const tooLittle = (what: string, size: number, key: string): void => {
      if (maxOutstanding >= size) return;
      refuse('maxOutstanding', `is too small for a ${what}. Write ${size} or more, or a smaller ${key}.`);
    };
    tooLittle(`batch of ${maxBatch} ISBNs`, maxBatch, 'maxBatch');
    tooLittle(`page of ${pageSize} books`, pageSize, 'pageSize');
  });

/** The parsed options of the books pipeline. */
export type BooksOptions = z.output<typeof options>;

/** Reads `maxOutstanding`, which isn't in the schema of books because it is a common option of all pipelines. Infinity if it isn't set. */
function maxOutstandingOf(given: object): number {
  return 'maxOutstanding' in given && typeof given.maxOutstanding === 'number' ? given.maxOutstanding : Infinity;
}

/** The address of the plan. A key works only at its own plan's address. */
function baseUrlOf({ plan, baseUrl, baseUrls }: BooksOptions): string {
  return baseUrl ?? baseUrls?.[plan] ?? '';
}

/** Maximum ISBNs of a request. A batch larger than the daily budget of ISBNs could never start. */
function batchOf({ maxBatch, perDay }: BooksOptions): number {
  return Math.min(maxBatch, perDay?.isbns ?? Infinity);
}

function openSource(given: BooksOptions, io: PipelineIo) {
  const { plan, key, perDay } = given;
  return booksSource({
    ...sourceOptions(baseUrlOf(given), given),
    ...io,
    plan,
    // The name doesn't depend on the plan: if the plan changes, the key keeps its window.
    credentials: [{ name: 'key', signer: apiKey(key) }],
    maxBatch: batchOf(given),
    ...(perDay !== undefined && { perDay }),
  });
}

function isbnKey(text: string): string {
  try {
    return normalizeIsbn(text);
  } catch {
    // An invalid ISBN becomes a dead letter under its own spelling.
    return text;
  }
}

function isbnOf(line: string): string {
  try {
    return normalizeIsbn(line);
  } catch (cause) {
    throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message: isbnFlaw(line, cause), pipeline: 'books', cause });
  }
}

/** Why a text isn't an ISBN. Rethrows an error that isn't about the text. */
function isbnFlaw(text: string, error: unknown): string {
  if (!(error instanceof OperatorError)) throw error;
  return `${shownNumber(text) ?? 'this entry'} ${error.reason}.`;
}

/** Warns of each text in the list that a run would dead-letter. */
function* listWarnings({ isbns }: BooksOptions): Generator<OptionIssue> {
  for (const [i, text] of isbns.entries()) {
    try {
      normalizeIsbn(text);
    } catch (error) {
      const cure = /[,;\t]/.test(text) ? 'Write one ISBN per line, without columns.' : 'A run dead-letters it.';
      yield { path: ['isbns', i], message: `${isbnFlaw(text, error)} ${cure}` };
    }
  }
}

function keyOf(request: BooksRequest): string {
  if ('author' in request) return request.author;
  if ('isbn' in request) return isbnKey(request.isbn);
  return isbnKey(request.isbns[0] ?? '');
}

type Isbns = Extract<BooksRequest, { isbns: unknown }>;
type Isbn = Extract<BooksRequest, { isbn: unknown }>;
type Author = Extract<BooksRequest, { author: unknown }>;

function kindOf(request: BooksRequest): ['isbns', Isbns] | ['isbn', Isbn] | ['author', Author] {
  if ('author' in request) return ['author', request];
  return 'isbn' in request ? ['isbn', request] : ['isbns', request];
}

/** Books by ISBN in batches, and authors with all their books. */
export const books: DefinedPipeline<typeof options> = definePipeline({
  name: 'books',
  options,
  request: booksRequest,
  topics: booksTopics,
  unit: 'books',
  maxOutstanding: 1_000,
  makesRequests: true,
  keyOf,
  parse: (line) => ({ isbn: isbnOf(line) }),
  check(request) {
    if ('isbn' in request) normalizeIsbn(request.isbn);
    const flaw = 'author' in request ? authorFlaw(request.author) : undefined;
    if ('author' in request && flaw !== undefined) {
      const message = `the author ${quoted(request.author)} ${flaw}.`;
      throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: 'books' });
    }
  },
  listed: ({ isbns, authors }) => [...isbns.map((isbn) => ({ isbn: isbnKey(isbn) })), ...authors.map((author) => ({ author }))],
  *warnings(given) {
    yield* plainHttpWarning(baseUrlOf(given), given.baseUrl === undefined ? ['baseUrls', given.plan] : ['baseUrl'], given);
    yield* listWarnings(given);
  },
  probe(given, io) {
    const source = openSource({ ...given, retryFor: 0 }, io);
    const isbn = given.isbns.find(isIsbn) ?? '9780140449136';
    return { source, query: () => source.batch([isbn], { credits: io.credits, signal: io.signal }) };
  },
  agreed: ({ plan, perDay }) => ({ plan, ...(perDay !== undefined && { perDay: { ...perDay } }) }),
  open(given, io) {
    const source = openSource(given, io);
    const { pageSize: ownSize = Math.min(AUTHOR_PAGE_SIZE, maxOutstandingOf(given)) } = given;
    return route(kindOf, {
      isbns: split(({ isbns }) => [...new Set(isbns.map(isbnKey))].map((isbn) => ({ isbn }))),
      isbn: lookup({
        source,
        key: ({ isbn }) => isbn,
        normalize: normalizeIsbn,
        query: (api, isbns, given) => api.batch(isbns, given),
        size: batchOf(given),
        capacity: (api) => api.gauges().leftToday ?? Infinity,
        records: (answers, { requested, topics }) => outcome(answers, requested, topics),
      }),
      author: walk({
        source,
        paging: ({ author }) => authorPaging(author, { pageSize: ownSize, maxPages: given.maxPages }),
        records({ author, namesAnother, page, last, mayBeCut, read, total, record }, { topics, warn }) {
          if (namesAnother && record.books.length > 0) {
            warn(
              `${author}: page ${page} of the books that the service returned names another author. They are in the topic, ` +
                'and the name is in record.author: if it is wrong, request another spelling.',
            );
          }
          if (mayBeCut) warn(`${author}: ${cutWords(read, total)}`);
          return [topics.authors({ key: author, value: { author, page, last, record }, id: String(page) })];
        },
        items: ({ record }) => record.books.length,
      }),
    });
  },
});

/** Why an author may have more books than the service returned. */
function cutWords(read: number | undefined, total: number | undefined): string {
  if (read !== undefined && total !== undefined) {
    return `the service ended the list of the author's books after ${read}, but counts ${total}. The others can't be requested.`;
  }
  return (
    "the service returned the first page of the author's books again as the next one, so there may be more books. " +
    'If there are, a larger books.pageSize returns them.'
  );
}

/** The records and dead letters of a batch. If the response has unreadable records, an ISBN without a record isn't reported as missing. */
function outcome(
  answers: readonly BookAnswer[],
  requested: readonly { readonly key: string }[],
  topics: RecordMakers<typeof booksTopics>,
): LookupOutcome {
  const byIsbn = new Map(answers.filter(({ kind }) => kind !== 'unreadable').map((answer) => [answer.isbn ?? answer.requested, answer]));
  const unreadable = answers.filter((answer): answer is UnreadableBook => answer.kind === 'unreadable');
  const records: LookupOutcome['records'][number][] = [];
  const deadLetters: NonNullable<LookupOutcome['deadLetters']>[number][] = [];
  for (const [index, { key: isbn }] of requested.entries()) {
    const answer = byIsbn.get(isbn);
    switch (answer?.kind) {
      case 'found':
        records.push({ index, record: topics.records({ key: isbn, value: { isbn, record: answer.record } }) });
        break;
      case 'missing':
      case undefined:
        if (unreadable.length > 0) deadLetters.push({ index, error: perhapsThere(isbn, unreadable.length) });
        else records.push({ index, record: topics.missing({ key: isbn, value: { isbn } }) });
        break;
      case 'invalid':
        deadLetters.push({ index, error: answer.error });
        break;
      case 'unreadable':
        break;
    }
  }
  for (const { id, record, error } of withIds(unreadable)) {
    deadLetters.push({ index: 0, error: ofNone(error, requested.length), part: { id, record } });
  }
  return { records, deadLetters };
}

/** Gives each unreadable record an ID that depends on its content, so that it has the same ID after a crash. */
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
    `${isbn}: no record names it, but its batch had ${records} no ISBN, so it may not be missing. ` +
    'Retry with `headgate replay books.dead-letters`; with books.maxBatch: 1, it gets its own request.';
  return new SourceError({ code: 'HEADGATE_INVALID_RECORD', message, retryable: true, service: 'books', subject: isbn });
}

/**
 * The error of an unreadable record for a dead letter. The source's own message says that ISBNs without a record are missing, but a run
 * dead-letters them.
 */
function ofNone({ code, retryable }: SourceError, count: number): SourceError {
  const message =
    `books: a record in the response for ${count} ISBNs isn't an object or names no ISBN, so it can't be matched to any of them. ` +
    'The other records were read. ISBNs that no record names are dead letters, too; `headgate replay` retries them.';
  return new SourceError({ code, message, retryable, service: 'books' });
}
