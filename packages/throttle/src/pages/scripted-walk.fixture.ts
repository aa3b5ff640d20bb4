import type { Credit, CreditPool } from '../admission/credit-pool.ts';
import type { PageReader } from './page-reader.ts';
import { PageStream } from './page-stream.ts';

export interface ScriptedWalkOptions {
  /** Items that each page is reserved room for. Default: as many as it has. */
  readonly reserve?: number;
  /** Waited for before each page comes. */
  readonly latency?: () => Promise<unknown>;
}

/** A walk of these pages, one item per value, that counts the requested pages and items. */
export function scriptedWalk<T>(pages: readonly (readonly T[])[], { reserve, latency }: ScriptedWalkOptions = {}) {
  const asked = { pages: 0, items: 0 };
  const open = (): PageReader<readonly T[]> => {
    let next = 0;
    return {
      async read({ credits, signal }) {
        const page = pages[next];
        if (page === undefined) return undefined;
        const items = reserve ?? page.length;
        const credit = await roomFor(credits, items, signal);
        next += 1;
        asked.pages += 1;
        asked.items += page.length;
        await latency?.();
        credit.resize(page.length);
        if (!signal.aborted) return { value: page, credit };
        credit.release();
        throw signal.reason;
      },
    };
  };
  return { asked, stream: new PageStream(open) };
}

async function roomFor(credits: CreditPool, items: number, signal: AbortSignal): Promise<Credit> {
  while (!credits.hasRoom(items)) {
    await new Promise<void>((resolve, reject) => {
      const end = credits.onRelease(() => {
        end();
        resolve();
      });
      signal.addEventListener('abort', () => {
        end();
        reject(signal.reason as Error);
      });
    });
  }
  signal.throwIfAborted();
  // In the same step as the look: another walk may take the room in between.
  return credits.reserve(items);
}
