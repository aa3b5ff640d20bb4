export type { FollowerPage } from './page.ts';
export { type Followers, followers, type FollowersOptions } from './followers.ts';
export type { PagesOptions } from './query.ts';
export type { UserChoice } from './user-choice.ts';
