import { bearer, oauth1 } from '@headgate/auth';
import { dropBoundaryDuplicates } from '@headgate/operators';
import {
  type DefinedPipeline,
  type PendingRecord,
  PipelineError,
  type RecordMakers,
  definePipeline,
  duration,
  secret,
  topic,
  walk,
} from '@headgate/pipeline';
import { type FollowerPage, followers as followersSource } from '@headgate/sources/followers';
import type { Json } from '@headgate/throttle';
import { type UserChoice, isScreenName, isUserId, userLabel } from '@headgate/sources/followers/user';
import { z } from 'zod';
import { shown } from '../config/problem.ts';
import { FIRST_CURSOR, type FollowersRequest, followersRequest, screenName, userId } from '../records/requests.ts';
import { recordSchemas } from '../records/schemas.ts';
import { followerChanges } from './follower-changes.ts';
import { httpOptions, sourceOptions } from './http-options.ts';

const followersTopics = {
  pages: topic({ value: recordSchemas['followers.pages'] }),
  ids: topic({ value: recordSchemas['followers.ids'] }),
  changes: topic({ value: recordSchemas['followers.changes'] }),
  crawls: topic({ value: recordSchemas['followers.crawls'] }),
};

const credential = z.union([
  z.strictObject({ name: z.string(), bearer: secret() }),
  z.strictObject({
    name: z.string(),
    oauth1: z.strictObject({
      consumerKey: secret(),
      consumerSecret: secret(),
      token: secret().exactOptional(),
      tokenSecret: secret().exactOptional(),
    }),
  }),
]);

const options = z.strictObject({
  ...httpOptions,
  credentials: z.array(credential).min(1).describe('Each with a budget of its own.'),
  limit: z
    .strictObject({ requests: z.int().positive(), window: duration() })
    .default({ requests: 15, window: 900_000 })
    .describe('Of each credential.'),
  count: z.int().min(1).max(5_000).default(5_000).describe('Most ids of a page.'),
  stringifyIds: z.boolean().default(true).describe('Ask for ids as strings; they are exact either way.'),
  maxEmptyPages: z.int().positive().default(100).describe('Most empty pages in a row.'),
  users: z
    .array(z.union([z.strictObject({ screenName }), z.strictObject({ userId })]))
    .default([])
    .describe('Users to crawl, once or again after `every`.'),
  emit: z
    .array(z.enum(['pages', 'ids', 'changes']))
    .default(['pages'])
    .describe('Topics to write; changes are made of pages.'),
  dropBoundaryDuplicates: z.boolean().default(false).describe('Drop ids that a page repeats from the end of the page before.'),
});

/** The user of a line: `@name` and `name` are screen names, digits (or `id:digits`) a user id, as in the keys of records. */
function userOf(line: string): UserChoice {
  const userId = /^(?:id:)?(\d+)$/.exec(line)?.[1];
  if (userId !== undefined) {
    if (isUserId(userId)) return { userId };
    const asName = isScreenName(userId) ? ` If it is a screen name, write @${userId}.` : '';
    throw noUser(`${shown(line)} is no user id: an id is 18446744073709551615 at most, and has no zero in front.${asName}`);
  }
  const screenName = line.replace(/^@/, '');
  if (isScreenName(screenName)) return { screenName };
  throw noUser(`${shown(line)} is no user. Write @name, or the digits of a user id.`);
}

function noUser(message: string): PipelineError {
  return new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: 'followers' });
}

const isWhole = ({ cursor = FIRST_CURSOR }: FollowersRequest): boolean => cursor === FIRST_CURSOR;

/** A user's followers, page by page, as pages, as ids, and as changes between two crawls. */
export const followers: DefinedPipeline<typeof options> = definePipeline({
  name: 'followers',
  options,
  request: followersRequest,
  topics: followersTopics,
  unit: 'ids',
  // 20 digits, quotes and a comma for each id, and the rest of the page.
  usualBytes: ({ emit, count }) => (emit.includes('pages') ? { pages: 16_384 + 23 * count } : {}),
  // Crawls are compared by the pages of the last one.
  readsBack: ({ emit }) => (emit.includes('changes') ? ['pages'] : []),
  keyOf: userLabel,
  parse: userOf,
  listed: ({ users }) => users,
  credentials: ({ credentials }) => credentials,
  agreed: ({ limit }) => ({ ...limit }),
  open(given, io) {
    const { limit, count, stringifyIds, emit } = given;
    const source = followersSource({
      ...sourceOptions(given),
      ...io,
      credentials: io.credentials.map((one) => ({ name: one.name, signer: 'bearer' in one ? bearer(one.bearer) : oauth1(one.oauth1) })),
      limit: { requests: limit.requests, windowMs: limit.window },
    });
    return walk({
      source,
      pages(api, { cursor: first = FIRST_CURSOR, count: own, ...user }, from, { page }) {
        const { cursor = first, empty } = checkpointOf(from);
        return api.pages({
          ...user,
          cursor,
          emptyBefore: empty,
          count: own ?? count,
          stringifyIds,
          firstPage: page,
          maxEmptyPages: given.maxEmptyPages,
        } as Parameters<typeof api.pages>[0]);
      },
      through: given.dropBoundaryDuplicates ? [dropBoundaryDuplicates<FollowerPage>()] : [],
      *records(page, at) {
        if (emit.includes('pages')) yield pageRecord(page, at);
        if (emit.includes('ids')) yield idRecords(page, at);
      },
      checkpoint({ nextCursor, ids }, before) {
        if (nextCursor === '0') return undefined;
        return ids.length > 0 ? nextCursor : { cursor: nextCursor, empty: checkpointOf(before).empty + 1 };
      },
      items: ({ ids }) => ids.length,
      credentialOf: ({ credential: name }) => name,
      *lifecycle({ items, ...change }, { key, id, topics }) {
        yield topics.crawls({ key, value: { user: key, crawl: id, ...change, ids: items }, id: change.state });
      },
      whole: isWhole,
      resumeAt: (request, from) => ({ ...request, cursor: checkpointOf(from).cursor }),
      ...(emit.includes('changes') && { after: followerChanges, afterName: 'the comparison of its last two crawls' }),
    });
  },
});

/** A walk's checkpoint is its next cursor; behind empty pages, how many came in a row stands beside it. */
export function checkpointOf(from: Json | undefined): { readonly cursor?: string | undefined; readonly empty: number } {
  if (typeof from === 'string') return { cursor: from, empty: 0 };
  return checkpointSchema.safeParse(from).data ?? { empty: 0 };
}

const checkpointSchema = z.object({ cursor: z.string(), empty: z.number() });

interface At {
  readonly key: string;
  readonly id: string;
  readonly page: number;
  readonly topics: RecordMakers<typeof followersTopics>;
}

function pageRecord({ cursor, nextCursor, previousCursor, ids }: FollowerPage, { key, id, page, topics }: At): PendingRecord {
  return topics.pages({ key, value: { user: key, crawl: id, page, cursor, nextCursor, previousCursor, ids } });
}

/** One record per id. They carry no headers: 5,000 times a page they would repeat the value. */
function idRecords({ ids }: FollowerPage, { key, id, page, topics }: At): PendingRecord {
  const before = JSON.stringify({ user: key, crawl: id, page }).slice(0, -1);
  // Ids are digits only, so they need no escaping.
  return topics.ids.series({ key, count: ids.length, textAt: (index) => `${before},"id":"${ids[index]}"}` });
}
