import type { Pipeline } from '@headgate/pipeline';
import { type BooksOptions, books } from './books.ts';
import { type FollowersOptions, followers } from './followers.ts';

export function booksOptions(pipelines: readonly Pipeline[]): BooksOptions | undefined {
  return pipelines.find(({ definition }) => definition === books.definition)?.options as BooksOptions | undefined;
}

export function followersOptions(pipelines: readonly Pipeline[]): FollowersOptions | undefined {
  return pipelines.find(({ definition }) => definition === followers.definition)?.options as FollowersOptions | undefined;
}
