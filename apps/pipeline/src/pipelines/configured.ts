import type { Pipeline } from '@headgate/pipeline';
import type { BooksConfig, Config, FollowersConfig, HttpConfig } from '../config/config.ts';
import { books } from './books.ts';
import { followers } from './followers.ts';

/** The pipelines that a configuration has. */
export function configuredPipelines(config: Pick<Config, 'followers' | 'books'>): Pipeline[] {
  return [
    ...(config.followers === undefined ? [] : [followersPipeline(config.followers)]),
    ...(config.books === undefined ? [] : [booksPipeline(config.books)]),
  ];
}

function followersPipeline(config: FollowersConfig): Pipeline {
  const { credentials, limit, count, stringifyIds, users, emit, everyMs, dropBoundaryDuplicates, maxEmptyPages, maxOutstanding } = config;
  return followers({
    ...http(config),
    credentials: [...credentials],
    limit: { requests: limit.requests, window: limit.windowMs },
    count,
    stringifyIds,
    users: [...users],
    emit: [...emit],
    dropBoundaryDuplicates,
    maxEmptyPages,
    maxOutstanding,
    ...(everyMs !== undefined && { every: everyMs }),
  });
}

function booksPipeline(config: BooksConfig): Pipeline {
  const { plan, key, maxBatch, perDay, isbns, authors, pageSize, maxPages, everyMs, maxOutstanding } = config;
  return books({
    ...http(config),
    plan,
    key,
    maxBatch,
    ...(perDay !== undefined && { perDay }),
    isbns: [...isbns],
    authors: [...authors],
    pageSize,
    maxPages,
    maxOutstanding,
    ...(everyMs !== undefined && { every: everyMs }),
  });
}

function http({ baseUrl, timeoutMs, maxBodyBytes, maxDelayMs, retryForMs, userAgent, proxy, ca }: HttpConfig) {
  return {
    baseUrl,
    timeout: timeoutMs,
    maxBody: maxBodyBytes,
    maxDelay: maxDelayMs,
    retryFor: retryForMs,
    ...(userAgent !== undefined && { userAgent }),
    ...(proxy !== undefined && { proxy }),
    ...(ca !== undefined && { ca }),
  };
}
