import { baseUrl, warnOfPlainHttp } from './addresses.ts';
import type { FollowersConfig } from './config.ts';
import { credentialsList } from './credentials-list.ts';
import { httpConfigFrom, httpKeys } from './http-keys.ts';
import { Leaf, isMapping, type TreeMapping } from './leaf.ts';
import type { ReadContext } from './read-context.ts';
import { chosen, list, mapping } from './schema-parts.ts';
import type { RuleBreach, Schema } from './schema-parts.ts';
import { usersList } from './users-list.ts';
import { duration, flag, numberOf, oneOf, wholeNumber } from './values.ts';

const COUNT = 5000;
const MAX_OUTSTANDING = 20_000;
const MAX_EMPTY_PAGES = 100;

/** The followers service; numbers that have a default in the service's document have it here. */
export function followersSection({ context }: { readonly context: ReadContext }): Schema<FollowersConfig> {
  const limit = mapping({
    shape: { requests: wholeNumber({ min: 1, example: '15' }).default(15), window: duration({ example: '15m' }).default(900_000) },
    example: '{ requests: 15, window: 15m }',
  });
  const shape = {
    ...httpKeys({ context }),
    baseUrl: baseUrl({ example: 'https://api.example.com' }),
    credentials: credentialsList({ context }),
    limit: limit.default({ requests: 15, window: 900_000 }),
    count: wholeNumber({ min: 1, max: 5000 }).default(COUNT),
    stringifyIds: flag().default(true),
    maxOutstanding: wholeNumber({ min: 1 }).default(MAX_OUTSTANDING),
    maxEmptyPages: wholeNumber({ min: 1 }).default(MAX_EMPTY_PAGES),
    users: usersList({ context }).default([]),
    emit: list({ item: oneOf(['pages', 'ids', 'changes']), example: '[pages, ids]' }).default(['pages']),
    every: duration({ example: '24h' }).exactOptional(),
    dropBoundaryDuplicates: flag().default(false),
  };
  const rules = (followers: TreeMapping): readonly RuleBreach[] => [...roomForAPage(followers), ...pagesForChanges(followers)];
  const section = mapping({ shape, example: 'followers: with baseUrl and credentials under it', rules });
  return chosen((tree) =>
    section.transform((read) => {
      if (!read.allowPlainHttp && isMapping(tree)) warnOfPlainHttp({ context, tree: tree['baseUrl'], baseUrl: read.baseUrl });
      return {
        ...httpConfigFrom({ baseUrl: read.baseUrl, read }),
        credentials: read.credentials,
        limit: { requests: read.limit.requests, windowMs: read.limit.window },
        count: read.count,
        stringifyIds: read.stringifyIds,
        maxOutstanding: read.maxOutstanding,
        maxEmptyPages: read.maxEmptyPages,
        users: read.users,
        emit: [...new Set(read.emit)],
        dropBoundaryDuplicates: read.dropBoundaryDuplicates,
        ...(read.every === undefined ? {} : { everyMs: read.every }),
      };
    }),
  );
}

/** The crawl that a later one is compared with is read from its pages. */
function pagesForChanges({ emit }: TreeMapping): readonly RuleBreach[] {
  const kinds = Array.isArray(emit) ? emit.map((item) => (item instanceof Leaf ? item.value : undefined)) : [];
  if (!kinds.includes('changes') || kinds.includes('pages')) return [];
  return [{ path: ['emit'], message: 'changes are made of pages. Write pages beside it, as in [pages, changes].' }];
}

/** A page larger than all the room there is would go through only when nothing else is on its way. */
function roomForAPage(followers: TreeMapping): readonly RuleBreach[] {
  const count = 'count' in followers ? numberOf(followers['count']) : COUNT;
  const room = 'maxOutstanding' in followers ? numberOf(followers['maxOutstanding']) : MAX_OUTSTANDING;
  if (count === undefined || room === undefined || room >= count) return [];
  return [{ path: ['maxOutstanding'], message: `has no room for a page of ${count} ids. Write ${count} or more, or a smaller count.` }];
}
