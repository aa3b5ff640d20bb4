import type { Pipeline } from '@headgate/pipeline';
import { type BooksOptions, books } from './books.ts';
import { type FollowersOptions, followers } from './followers.ts';

/** The options of books among these pipelines; undefined if books isn't configured. */
export function booksOptions(pipelines: readonly Pipeline[]): BooksOptions | undefined {
  return pipelines.find(({ definition }) => definition === books.definition)?.options as BooksOptions | undefined;
}

/** The options of followers among these pipelines; undefined if followers isn't configured. */
export function followersOptions(pipelines: readonly Pipeline[]): FollowersOptions | undefined {
  return pipelines.find(({ definition }) => definition === followers.definition)?.options as FollowersOptions | undefined;
}
