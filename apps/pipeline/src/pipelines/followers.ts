import { bearer, oauth1 } from '@headgate/auth';
import { dropBoundaryDuplicates } from '@headgate/operators';
import {
  type DefinedPipeline,
  type PendingRecord,
  PipelineError,
  type PipelineIo,
  type RecordMakers,
  type SecretReader,
  type SecretInput,
  definePipeline,
  duration,
  secret,
  topic,
  walk,
} from '@headgate/pipeline';
import { distinctCredentials, httpOptions, plainHttpWarning, sourceOptions } from '@headgate/pipeline/internal';
import { type FollowersAnswer, followers as followersSource, followersPaging } from '@headgate/sources/followers';
import { type UserChoice, isScreenName, isUserId, userLabel } from '@headgate/sources/followers/user';
import * as z from 'zod';
import { address } from '../config/address.ts';
import { shownNumber } from '../config/problem.ts';
import { FIRST_CURSOR, type FollowersRequest, followersRequest, screenName, userId } from '../records/requests.ts';
import { recordSchemas } from '../records/schemas.ts';
import { followerChanges } from './follower-changes.ts';

const followersTopics = {
  pages: topic({ value: recordSchemas['followers.pages'] }),
  ids: topic({ value: recordSchemas['followers.ids'] }),
  changes: topic({ value: recordSchemas['followers.changes'] }),
  crawls: topic({ value: recordSchemas['followers.crawls'] }),
};

type Credential =
  | { readonly name: string; readonly bearer: SecretReader; readonly oauth1?: undefined }
  | { readonly name: string; readonly bearer?: undefined; readonly oauth1: OAuth1Credential<SecretReader> };

type CredentialInput =
  | { readonly name: string; readonly bearer: SecretInput }
  | { readonly name: string; readonly oauth1: OAuth1Credential<SecretInput> };

interface OAuth1Credential<Value> {
  readonly consumerKey: Value;
  readonly consumerSecret: Value;
  readonly token?: Value;
  readonly tokenSecret?: Value;
}

const credential = z
  .strictObject({
    name: z
      .string()
      .regex(/^[A-Za-z\d][\w.-]{0,63}$/, 'isn\'t a valid name. Write up to 64 letters, digits, ".", "_" and "-", such as app.')
      .describe('Name in the display, logs and metrics. Its budget is kept under this name across restarts.')
      .meta({ examples: ['app'] }),
    bearer: secret()
      .exactOptional()
      .describe('Bearer token.')
      .meta({ examples: ['${FOLLOWERS_BEARER_TOKEN}'] }),
    oauth1: z
      .strictObject({
        consumerKey: secret({ encoded: true })
          .describe('Consumer key of the application.')
          .meta({ examples: ['${CONSUMER_KEY}'] }),
        consumerSecret: secret({ encoded: true, empty: true })
          .describe('Consumer secret of the application.')
          .meta({ examples: ['${CONSUMER_SECRET}'] }),
        token: secret({ encoded: true })
          .exactOptional()
          .describe('Access token of the user.')
          .meta({ examples: ['${TOKEN}'] }),
        tokenSecret: secret({ encoded: true, empty: true })
          .exactOptional()
          .describe('Token secret of the user.')
          .meta({ examples: ['${TOKEN_SECRET}'] }),
      })
      .superRefine(({ token, tokenSecret }, context) => {
        if (token === undefined && tokenSecret !== undefined) {
          context.addIssue({ code: 'custom', path: ['tokenSecret'], message: 'needs token, too. Write both or neither.' });
        }
      })
      .exactOptional()
      .describe('OAuth 1.0a credentials; requests are signed with HMAC-SHA1.'),
  })
  .superRefine((given, context) => {
    const refuse = (message: string, path: string[] = []): void => context.addIssue({ code: 'custom', path, message });
    if ('bearer' in given && 'oauth1' in given) {
      refuse("can't be combined with bearer. Keep one of them, or write two credentials.", ['oauth1']);
    } else if (!('bearer' in given) && !('oauth1' in given)) {
      refuse('needs bearer or oauth1. Write bearer: "${FOLLOWERS_BEARER_TOKEN}".');
    }
  }) as unknown as z.ZodType<Credential, CredentialInput>;

const credentials = z
  .array(credential)
  .min(1)
  .superRefine(
    distinctCredentials(({ bearer: token, oauth1: keys }: Credential) =>
      keys === undefined ? { setting: 'bearer', values: [token] } : { setting: 'oauth1', values: [keys.consumerKey, keys.token] },
    ),
  );

const user = z.union([
  z.string().transform((text, context): UserChoice => {
    const found = listedUser(text);
    if (typeof found !== 'string') return found;
    context.addIssue({ code: 'custom', message: found });
    return z.NEVER;
  }),
  z.strictObject({ screenName: screenName.describe('Screen name of the user.').meta({ examples: ['alpha'] }) }),
  z.strictObject({ userId: userId.describe('User ID: digits, in quotes.').meta({ examples: ['12'] }) }),
]);

const options = z
  .strictObject({
    baseUrl: address('https://api.example.com').describe('Base address of the service, optionally with a path.'),
    credentials: credentials
      .describe('Credentials for the service. Each has its own budget, so more of them make a crawl faster.')
      .meta({ examples: [[{ name: 'app', bearer: '${FOLLOWERS_BEARER_TOKEN}' }]] }),
    users: z
      .array(user)
      .default([])
      .describe('Users to crawl.')
      .meta({ examples: [['alpha', { userId: '12' }, { file: 'users.txt' }]] }),
    emit: z
      .array(z.enum(['pages', 'ids', 'changes']))
      .min(1)
      .default(['pages'])
      .describe('Topics to write. `changes` lists who followed and unfollowed since the previous crawl, and needs `pages`.')
      .meta({ examples: [['pages', 'ids']] }),
    limit: z
      .strictObject({
        requests: z.int().positive().default(15).describe('Maximum requests per window.'),
        window: duration().prefault('15m').describe('Length of the window.'),
      })
      .prefault({})
      .describe('Limit of the service for each credential.'),
    count: z.int().min(1).max(5_000).default(5_000).describe('Maximum IDs per page.'),
    stringifyIds: z.boolean().default(true).describe('Request IDs as strings. IDs stay exact either way.'),
    maxEmptyPages: z
      .int()
      .positive()
      .default(100)
      .describe('Maximum empty pages in a row. Then the crawl becomes a dead letter; `headgate replay` resumes it.'),
    dropBoundaryDuplicates: z
      .boolean()
      .default(false)
      .describe('Drop IDs at the start of a page that repeat the end of the previous page.'),
    ...httpOptions,
  })
  .superRefine((given, context) => {
    const { emit, count } = given;
    // `maxOutstanding` isn't in this schema, because it is a common option of all pipelines.
    const { maxOutstanding = Infinity } = given as { readonly maxOutstanding?: number };
    if (emit.includes('changes') && !emit.includes('pages')) {
      const message = 'changes need pages. Write, for example, [pages, changes].';
      context.addIssue({ code: 'custom', path: ['emit'], message });
    }
    // A page larger than the whole capacity could start only when nothing else is in flight.
    if (maxOutstanding < count) {
      const message = `is too small for a page of ${count} ids. Write ${count} or more, or a smaller count.`;
      context.addIssue({ code: 'custom', path: ['maxOutstanding'], message });
    }
  });

/** The parsed options of the followers pipeline. */
export type FollowersOptions = z.output<typeof options>;

/** The user that a list names, or what is wrong. Digits alone can be an ID or a screen name. */
function listedUser(text: string): UserChoice | string {
  if (!/^\d+$/.test(text)) return userIn(text);
  return isUserId(text) ? `could be a user ID or a screen name. Write id:${text} or "@${text}".` : idFlaw(text);
}

function idFlaw(text: string): string {
  const asName = isScreenName(text) ? ` If it is a screen name, write "@${text}".` : '';
  return `isn't a user ID: an ID is at most 18446744073709551615, without leading zeros.${asName}`;
}

/** The user of `@name`, `name` or `id:digits`, or what is wrong. */
function userIn(text: string): UserChoice | string {
  if (text.startsWith('id:')) {
    const userId = text.slice('id:'.length).trim();
    return isUserId(userId) ? { userId } : idFlaw(userId);
  }
  const screenName = text.trim().replace(/^@/, '');
  return isScreenName(screenName) ? { screenName } : 'isn\'t a screen name. Write 1 to 50 letters, digits and "_", such as alpha.';
}

function signerOf(one: Credential) {
  return one.bearer === undefined ? oauth1(one.oauth1) : bearer(one.bearer);
}

/** The user of a line: `@name` and `name` are screen names, digits (or `id:digits`) a user ID, as in the keys of records. */
function userOf(line: string): UserChoice {
  const found = userIn(line.replace(/^\d+$/, 'id:$&'));
  if (typeof found !== 'string') return found;
  const message = `${shownNumber(line) ?? 'this'} ${found}`;
  throw new PipelineError({ code: 'HEADGATE_MALFORMED_REQUEST', message, pipeline: 'followers' });
}

const isWhole = ({ cursor = FIRST_CURSOR }: FollowersRequest): boolean => cursor === FIRST_CURSOR;

/** A user's followers, page by page, as pages, as IDs, and as changes between two crawls. */
export const followers: DefinedPipeline<typeof options> = definePipeline({
  name: 'followers',
  options,
  request: followersRequest,
  topics: followersTopics,
  unit: 'ids',
  pageItems: ({ count }) => count,
  // 6 full pages, so that many crawls share transactions.
  maxOutstanding: 30_000,
  // An ID takes at most 20 digits, two quotes and a comma. The first number covers the rest of the page.
  usualBytes: ({ emit, count }) => (emit.includes('pages') ? { pages: 16_384 + 23 * count } : {}),
  // Crawls with the same key are compared with each other.
  keyOf: userLabel,
  parse: userOf,
  // A user in two spellings is crawled once.
  listed: ({ users }) => Array.from(Map.groupBy(users, userLabel).values(), ([first]) => first).filter((first) => first !== undefined),
  credentials: (given) => given.credentials,
  agreed: ({ limit }) => ({ ...limit }),
  *warnings(given) {
    yield* plainHttpWarning(given.baseUrl, ['baseUrl'], given);
    for (const [i, { oauth1: keys }] of given.credentials.entries()) {
      if (keys?.token === undefined || keys.tokenSecret !== undefined) continue;
      const message = 'has no tokenSecret, so requests are signed with an empty one. Add tokenSecret, or write "" if it is empty.';
      yield { path: ['credentials', i, 'oauth1', 'token'], message };
    }
  },
  probe(given, io) {
    const source = openSource({ ...given, retryFor: 0 }, io);
    const [first = { screenName: 'headgate' }] = given.users;
    const pages = source.pages({ ...first, count: 1, stringifyIds: given.stringifyIds });
    return { source, query: () => pages.reader({ credits: io.credits, signal: io.signal }).read() };
  },
  open(given, io) {
    const { count, stringifyIds, emit } = given;
    return walk({
      source: openSource(given, io),
      paging: (request) => followersPaging({ ...request, count: request.count ?? count, stringifyIds, maxEmptyPages: given.maxEmptyPages }),
      through: given.dropBoundaryDuplicates ? [dropBoundaryDuplicates<FollowersAnswer>()] : [],
      *records(page, at) {
        if (emit.includes('pages')) yield pageRecord(page, at);
        if (emit.includes('ids')) yield idRecords(page, at);
      },
      items: ({ ids }) => ids.length,
      credentialOf: ({ credential: name }) => name,
      *lifecycle({ items, ...change }, { key, id, topics }) {
        yield topics.crawls({ key, value: { user: key, crawl: id, ...change, ids: items }, id: change.state });
      },
      whole: isWhole,
      ...(emit.includes('changes') && { after: followerChanges, afterName: 'the comparison of its last two crawls' }),
    });
  },
});

function openSource(given: FollowersOptions, io: PipelineIo<Credential>) {
  const { limit } = given;
  return followersSource({
    ...sourceOptions(given.baseUrl, given),
    ...io,
    credentials: io.credentials.map((one) => ({ name: one.name, signer: signerOf(one) })),
    limit: { requests: limit.requests, windowMs: limit.window },
  });
}

interface At {
  readonly key: string;
  readonly id: string;
  readonly page: number;
  readonly topics: RecordMakers<typeof followersTopics>;
}

function pageRecord({ cursor, nextCursor, previousCursor, ids }: FollowersAnswer, { key, id, page, topics }: At): PendingRecord {
  return topics.pages({ key, value: { user: key, crawl: id, page, cursor, nextCursor, previousCursor, ids } });
}

/** One record per ID, without headers, because a page can contain 5,000 IDs. */
function idRecords({ ids }: FollowersAnswer, { key, id, page, topics }: At): PendingRecord {
  const start = JSON.stringify({ user: key, crawl: id, page }).slice(0, -1);
  // IDs contain only digits, so they need no escaping.
  return topics.ids.series({ key, count: ids.length, before: `${start},"id":"`, textAt: (index) => ids[index] ?? '', after: '"}' });
}
