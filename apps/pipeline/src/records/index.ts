/**
 * Schemas of the requests and records in the topics of the built-in pipelines.
 *
 * @packageDocumentation
 */
export { type AuthorRequest, type BooksRequest, booksRequest, type FollowersRequest, followersRequest } from './requests.ts';
export {
  type CrawlPart,
  type DeadLetterValue,
  type RecordOf,
  type RecordTopic,
  type RecordValues,
  recordJsonSchema,
  recordSchemas,
} from './schemas.ts';
