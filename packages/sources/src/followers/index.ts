/**
 * The followers service: walks through the ids of a user's followers.
 *
 * @packageDocumentation
 */
export type { FollowerPage } from './page.ts';
export { type Followers, followers, type FollowersOptions } from './followers.ts';
export type { PagesOptions } from './query.ts';
export type { UserChoice } from './user-choice.ts';
