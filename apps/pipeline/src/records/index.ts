export { type BooksRequest, booksRequest, type FollowersRequest, followersRequest } from './requests.ts';
export { type RecordOf, type RecordTopic, recordJsonSchema, recordSchemas } from './schemas.ts';
