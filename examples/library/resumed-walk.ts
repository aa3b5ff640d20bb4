import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { resumable } from '@headgate/throttle';
import { type Observable, defer, lastValueFrom, retry } from 'rxjs';

export interface ResumedWalkOptions {
  readonly api: Followers;
  readonly screenName: string;
  /** A sink that may fail: the walk goes on behind the last page that it took. */
  readonly write: (page: FollowerPage) => Promise<void>;
}

/** Writes a user's pages one after the other, and tries again what fails, ten times at most and a second apart. */
export async function resumedWalk({ api, screenName, write }: ResumedWalkOptions): Promise<void> {
  const pages = resumable<FollowerPage>((last) => {
    if (last?.nextCursor === '0') return undefined;
    return api.pages({ screenName, ...(last !== undefined && { cursor: last.nextCursor, firstPage: last.page + 1 }) });
  });
  const written: Observable<void> = pages.drain((page) => defer(() => write(page)), { readAhead: 1 });
  await lastValueFrom(written.pipe(retry({ count: 10, delay: 1_000 })), { defaultValue: undefined });
}
