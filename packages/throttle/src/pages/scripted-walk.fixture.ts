import type { Credit, CreditPool } from '../admission/credit-pool.ts';
import type { PageReader, PageReadOptions } from './page-reader.ts';
import { PageStream } from './page-stream.ts';

export interface ScriptedWalkOptions {
  /** Number of items to reserve for each page. Default: the number of its values. */
  readonly reserve?: number;
  /** Called for each requested page, which arrives when the promise resolves. */
  readonly latency?: () => Promise<unknown>;
}

/** Creates a walk through these pages, with one item per value. `asked` counts the requested pages and items. */
export function scriptedWalk<T>(pages: readonly (readonly T[])[], { reserve, latency }: ScriptedWalkOptions = {}) {
  const asked = { pages: 0, items: 0 };
  const open = ({ credits, signal }: PageReadOptions): PageReader<readonly T[]> => {
    let next = 0;
    return {
      async read() {
        const page = pages[next];
        if (page === undefined) return undefined;
        const items = reserve ?? page.length;
        const credit = await roomFor(credits, items, signal);
        next += 1;
        asked.pages += 1;
        asked.items += page.length;
        await latency?.();
        credit.resize(page.length);
        if (!signal.aborted) return [{ value: page, credit }];
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
  // Reserves in the same synchronous step as the check, before another walk can take the capacity.
  return credits.reserve(items);
}
