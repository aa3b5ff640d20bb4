import type { FollowerPage, Followers } from '@headgate/sources/followers';
import { type Observable, defer, lastValueFrom, retry } from 'rxjs';

export interface ResumedWalkOptions {
  readonly api: Followers;
  readonly screenName: string;
  /** A sink that can fail. The crawl then continues after the last page that was written. */
  readonly write: (page: FollowerPage) => Promise<void>;
}

/** Writes a user's pages one after the other. It retries after up to ten errors, each time after a second. */
export async function resumedWalk({ api, screenName, write }: ResumedWalkOptions): Promise<void> {
  let from: FollowerPage['next'] | undefined;
  const writeNext = async (page: FollowerPage): Promise<void> => {
    await write(page);
    from = page.next;
  };
  const written: Observable<void> = defer(() => api.pages({ screenName, from }).drain(writeNext, { readAhead: 1 }));
  await lastValueFrom(written.pipe(retry({ count: 10, delay: 1_000 })), { defaultValue: undefined });
}
