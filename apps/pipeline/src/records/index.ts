export { type RecordOf, type RecordTopic, recordJsonSchema, recordSchemas } from './schemas.ts';
export { type BooksWish, booksWish, type FollowersWish, followersWish, MalformedWishError, parseWish } from './wish.ts';
