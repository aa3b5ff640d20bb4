export type { FollowerPage } from './follower-page.ts';
export { type Followers, followers, type FollowersOptions } from './followers.ts';
export type { PagesOptions } from './followers-ask.ts';
export type { UserChoice } from './user-choice.ts';
