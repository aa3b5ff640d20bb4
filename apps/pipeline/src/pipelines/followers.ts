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
import { type UserChoice, isScreenName, isUserId, userLabel } from '@headgate/sources/followers/user';
import { z } from 'zod';
import { recordSchemas } from '../records/schemas.ts';
import { followerChanges } from './follower-changes.ts';
import { httpOptions, sourceOptions } from './http-options.ts';

const userId = z
  .string('must be a string of digits, in quotes: a bare number loses digits')
  .refine(isUserId, 'must be digits, 18446744073709551615 at most, without a zero in front');
const screenName = z
  .string()
  .transform((name) => name.replace(/^@/, ''))
  .refine(isScreenName, 'must be 1 to 50 letters, digits or underscores');

/** The cursor of a user's first page. */
const FIRST_CURSOR = '-1';

/** A request in `followers.requests`: crawl this user, all of it or from a cursor on. */
export type FollowersRequest = UserChoice & { readonly cursor?: string | undefined; readonly count?: number | undefined };

const followersRequest: z.ZodType<FollowersRequest> = z
  .object({
    screenName: screenName.optional(),
    userId: userId.optional(),
    cursor: z
      .string('must be a string of digits, in quotes')
      .regex(/^-?\d{1,20}$/, 'must be a cursor: digits, perhaps with a minus sign')
      .optional(),
    count: z.int().min(1).max(5_000).optional(),
  })
  .refine(
    (request) => (request.screenName === undefined) !== (request.userId === undefined),
    'takes either screenName or userId',
  ) as z.ZodType<FollowersRequest>;

const followersTopics = {
  pages: topic({ value: recordSchemas['followers.pages'], usualBytes: 131_384 }),
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

/** The user of a line: `@name` and `name` are screen names, digits (or `id:digits`) a user id. */
function userOf(line: string): UserChoice {
  const id = /^(?:id:)?(\d+)$/.exec(line)?.[1];
  const name = line.replace(/^@/, '');
  if (id !== undefined && isUserId(id)) return { userId: id };
  if (id === undefined && isScreenName(name) && (line.startsWith('@') || !/^\d+$/.test(name))) return { screenName: name };
  throw new PipelineError({
    code: 'HEADGATE_MALFORMED_REQUEST',
    message: `${JSON.stringify(line)} is no user. Write @name, or the digits of a user id.`,
    pipeline: 'followers',
  });
}

const isWhole = ({ cursor = FIRST_CURSOR }: FollowersRequest): boolean => cursor === FIRST_CURSOR;

/** A user's followers, page by page, as pages, as ids, and as changes between two crawls. */
export const followers: DefinedPipeline<typeof options> = definePipeline({
  name: 'followers',
  options,
  request: followersRequest,
  topics: followersTopics,
  unit: 'ids',
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
      onTry: io.onAttempt,
    });
    return walk({
      source,
      pages: (api, { cursor = FIRST_CURSOR, count: own, ...user }, from, { page }) =>
        api.pages({
          ...user,
          cursor: typeof from === 'string' ? from : cursor,
          count: own ?? count,
          stringifyIds,
          firstPage: page,
          maxEmptyPages: given.maxEmptyPages,
        } as Parameters<typeof api.pages>[0]),
      through: given.dropBoundaryDuplicates ? [dropBoundaryDuplicates<FollowerPage>()] : [],
      *records(page, at) {
        if (emit.includes('pages')) yield pageRecord(page, at);
        if (emit.includes('ids')) yield idRecords(page, at);
      },
      checkpoint: ({ nextCursor }) => (nextCursor === '0' ? undefined : nextCursor),
      items: ({ ids }) => ids.length,
      credentialOf: ({ credential: name }) => name,
      *lifecycle({ items, ...change }, { key, id, topics }) {
        yield topics.crawls({ key, value: { user: key, crawl: id, ...change, ids: items }, id: change.state });
      },
      whole: isWhole,
      resumeAt: (request, from) => (typeof from === 'string' ? { ...request, cursor: from } : request),
      ...(emit.includes('changes') && { after: followerChanges }),
    });
  },
});

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
