import { dropBoundaryDuplicates, flattenIds } from '@headgate/operators';
import type { Followers } from '@headgate/sources/followers';
import { gather, mergePages } from '@headgate/throttle';
import { defer, lastValueFrom } from 'rxjs';

export interface MergedWalksOptions {
  readonly api: Followers;
  readonly screenNames: readonly string[];
  /** Maximum IDs that are requested and not yet written. */
  readonly maxOutstanding: number;
  readonly write: (followers: readonly { readonly user: string; readonly id: string }[]) => Promise<void>;
}

/**
 * Writes the followers of several users in batches of at most 1,000, which can contain several users. A slow sink slows the requests down.
 */
export async function mergedWalks({ api, screenNames, maxOutstanding, write }: MergedWalksOptions): Promise<void> {
  const walks = screenNames.map((screenName) => api.pages({ screenName }).through(dropBoundaryDuplicates(), flattenIds()));
  const batches = mergePages(walks, { maxOutstanding }).through(gather({ size: 1_000, maxWaitMs: 60_000 }));
  await lastValueFrom(
    batches.drain((batch) => defer(() => write(batch))),
    { defaultValue: undefined },
  );
}
