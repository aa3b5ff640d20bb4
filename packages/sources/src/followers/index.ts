/**
 * A source for the followers service: walks through the IDs of a user's followers.
 *
 * @packageDocumentation
 */
export type { FollowerPage, FollowersAnswer } from './page.ts';
export { type Followers, followers, type FollowersOptions } from './followers.ts';
export { followersPaging, type FollowersQuery, type FollowersWalk, type PagesOptions } from './query.ts';
export type { UserChoice } from './user-choice.ts';
