import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { FollowerPage, Followers } from '@headgate/sources/followers';

export interface GzippedFollowersOptions {
  readonly api: Followers;
  readonly screenName: string;
  /** A file, a socket or an upload. If it is slow, it slows the requests down. */
  readonly to: Writable;
  readonly signal?: AbortSignal;
}

/** Writes a user's followers with gzip, one ID per line. */
export async function gzippedFollowers({ api, screenName, to, signal }: GzippedFollowersOptions): Promise<void> {
  // The crawl needs the signal, too, because a generator can't end while it waits for a page.
  await pipeline(api.pages({ screenName, signal }), lines, createGzip(), to, { ...(signal !== undefined && { signal }) });
}

async function* lines(pages: AsyncIterable<FollowerPage>): AsyncGenerator<string> {
  for await (const { ids } of pages) yield ids.map((id) => `${id}\n`).join('');
}
