import * as z from 'zod';
import { deadLetter, reason, valueJsonSchema } from './topic-schemas.ts';

/** The value of each topic's records. IDs and cursors are strings of digits, because they can exceed the range of a JavaScript number. */
export interface RecordValues {
  /** A page of followers. `page` is 1-based, and `ids` are in the service's order. */
  'followers.pages': CrawlPart & { page: number; cursor: string; nextCursor: string; previousCursor: string; ids: readonly string[] };
  /** One follower. `page`: the page that the ID came with, 1-based. */
  'followers.ids': CrawlPart & { page: number; id: string };
  /** A user who followed or unfollowed. `crawl` is the later of the two crawls that were compared. */
  'followers.changes': CrawlPart & { change: 'followed' | 'unfollowed'; id: string };
  /** A crawl's change of state, with the pages and IDs written so far. `reason` is set after a failure. */
  'followers.crawls': CrawlPart & {
    state: 'started' | 'completed' | 'failed';
    pages: number;
    ids: number;
    reason?: { code: string; message: string } | undefined;
    warnings?: readonly string[] | undefined;
  };
  /** A book that was found. `isbn` has 13 digits, and `record` is the service's own. */
  'books.records': { isbn: string; record: Readonly<Record<string, unknown>> };
  /** A page of an author's books. `page` is 1-based, and `last` is true for the last page. */
  'books.authors': { author: string; page: number; last: boolean; record: Readonly<Record<string, unknown>> };
  /** A book that the service doesn't know. `isbn` has 13 digits. */
  'books.missing': { isbn: string };
  /** A job that couldn't be processed. */
  'followers.dead-letters': DeadLetterValue;
  /** A job, or a part of a response, that couldn't be processed. */
  'books.dead-letters': DeadLetterValue;
}

/** The fields that all records of a crawl have. */
export interface CrawlPart {
  /** `@name`, or the digits of a user ID. */
  user: string;
  /** ID of the crawl, `<requests topic>-<partition>-<offset>` of its job. It is the same after a restart. */
  crawl: string;
}

/** A job or a record that couldn't be processed, with the reason and the time. */
export interface DeadLetterValue {
  /** `code` and `message` of the error. `retryable`: whether a replay can succeed without any change. */
  error: { code: string; message: string; retryable: boolean };
  /** Time of the dead letter, ISO 8601. */
  at: string;
  /** The job; null if it was too large to keep, or isn't text. */
  request?: unknown;
  /** The job in base64, if it isn't text. */
  requestBase64?: string | undefined;
  /** The part of a response that couldn't be processed. */
  record?: unknown;
}

/** A topic whose values have a published schema, by its name without a prefix. */
export type RecordTopic = keyof RecordValues;
/** The value of a record of `Topic`, such as `RecordOf<'followers.pages'>`. */
export type RecordOf<Topic extends RecordTopic> = RecordValues[Topic];

const id = z
  .string()
  .regex(/^\d{1,20}$/)
  .describe('User ID, in digits. It can exceed the range of a JavaScript number.');
const cursor = z.string().regex(/^-?\d{1,20}$/);
const isbn = z
  .string()
  .regex(/^\d{13}$/)
  .describe('ISBN: 13 digits.');
const page = z.int().describe('Page number, from 1.');
const crawlPart = {
  user: z.string().describe('`@name`, or the digits of a user ID.'),
  crawl: z.string().describe('ID of the crawl: topic, partition and offset of its job.'),
};

/**
 * A zod schema of each topic's values. Append members at the end: their order numbers the fields of Protobuf messages.
 */
export const recordSchemas: { readonly [Topic in RecordTopic]: z.ZodType<RecordValues[Topic]> } = {
  'followers.pages': z.object({
    ...crawlPart,
    page,
    cursor: cursor.describe('Cursor of this page.'),
    nextCursor: z
      .string()
      .regex(/^(-?\d{1,20})?$/)
      .describe('Cursor of the next page; 0 on the last. Empty if the service named no valid one; then the crawl failed.'),
    previousCursor: cursor.describe('Cursor of the previous page; 0 on the first.'),
    ids: z.array(id).describe("Follower IDs, in the service's order."),
  }),
  'followers.ids': z.object({ ...crawlPart, page, id }),
  'followers.changes': z.object({
    ...crawlPart,
    change: z.enum(['followed', 'unfollowed']).describe('Change since the previous crawl.'),
    id,
  }),
  'followers.crawls': z.object({
    ...crawlPart,
    state: z.enum(['started', 'completed', 'failed']).describe('New state of the crawl.'),
    pages: z.int().describe('Pages written so far.'),
    ids: z.int().describe('IDs written so far.'),
    reason: z.object(reason).describe('Error that failed the crawl.').optional(),
    warnings: z.array(z.string()).describe('Warnings about a completed crawl.').optional(),
  }),
  'books.records': z.object({ isbn, record: z.looseObject({}).describe('Record as the service sent it.') }),
  'books.authors': z.object({
    author: z.string().describe('Name of the author.'),
    page,
    last: z.boolean().describe('Whether this is the last page.'),
    record: z.looseObject({}).describe('Record as the service sent it.'),
  }),
  'books.missing': z.object({ isbn }),
  'followers.dead-letters': deadLetter,
  'books.dead-letters': deadLetter,
};

/** The JSON Schema of a topic's values, for clients in other languages. */
export function recordJsonSchema(topic: RecordTopic): object {
  return valueJsonSchema(recordSchemas[topic]);
}
