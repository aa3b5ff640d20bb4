import type { Clock } from '@headgate/throttle';
import type { CommandFor } from '../open-letters.ts';
import type { RunView } from '../run-view.ts';
import type { TimeWords } from '../text/time-words.ts';
import { type PageFrame, sharedParts, workParts } from './page-parts.ts';
import { type PageStreams, pageStreams } from './page-stream.ts';
import { pageAssets, statusPage } from './status-page.ts';
import { type WorkFilter, workFilter } from './work-filter.ts';

export interface LivePagesOptions {
  readonly view: () => RunView;
  readonly clock: Clock;
  readonly times: TimeWords;
  readonly commandFor: CommandFor;
}

/** The status page, and what keeps it up to date. */
export interface LivePages {
  readonly contentSecurityPolicy: string;
  /** The current document. `query`: of its address, which filters the requests. */
  document(query: string): string;
  readonly streams: PageStreams;
}

export async function livePages({ view, clock, times, commandFor }: LivePagesOptions): Promise<LivePages> {
  const assets = await pageAssets();
  const look = (): ((filter: WorkFilter) => PageFrame) => {
    const now = view();
    const shared = sharedParts(now, { times, commandFor });
    return (filter) => ({ ...shared, parts: new Map([...shared.parts, ...workParts(now, filter, times)]) });
  };
  return {
    contentSecurityPolicy: assets.contentSecurityPolicy,
    document(query) {
      const filter = workFilter(query);
      return statusPage({ frame: look()(filter), filter, assets });
    },
    streams: pageStreams({ clock, look, version: assets.version }),
  };
}
