import type { Credit } from '../admission/credit-pool.ts';
import type { PageReader } from './page-reader.ts';
import { PageStream } from './page-stream.ts';

/**
 * A walk that can be opened again, as `retry()` does: it goes on behind the last page that was acknowledged, not at the start.
 * `open` gets that page, undefined where there is none, and gives undefined where nothing is behind it:
 * `resumable((last) => (last?.nextCursor === '0' ? undefined : api.pages({ …, cursor: last?.nextCursor ?? '-1' })))`.
 * A page is acknowledged when its projection completes, or when `for await` takes the next one; pages in between come again. Behind its end
 * it is empty; a walk from the start is another `resumable`. Stages of `through` start over each time it is opened.
 *
 * - *Emits when* a page of the walk has come.
 * - *Backpressures when* the walk does.
 * - *Completes when* the walk has, now or an earlier time.
 * - *Cancels when* unsubscribed, which acknowledges nothing.
 */
export function resumable<T>(open: (last: T | undefined) => PageStream<T> | undefined): PageStream<T> {
  let last: { readonly page: T } | undefined;
  let hasEnded = false;
  let latest: object | undefined;

  return new PageStream(() => {
    const opening = {};
    latest = opening;
    let reader: PageReader<T> | undefined;
    const unacknowledged: { readonly page: T; isAcknowledged: boolean }[] = [];
    let endsBehind = false;

    const advance = (): void => {
      // Another opening has resumed from here, and no longer learns of this one's acknowledgements.
      if (latest !== opening) return;
      while (unacknowledged[0]?.isAcknowledged === true) {
        last = { page: unacknowledged[0].page };
        unacknowledged.shift();
      }
      hasEnded ||= endsBehind && unacknowledged.length === 0;
    };
    return {
      async read({ credits, signal }) {
        if (hasEnded) return undefined;
        reader ??= open(last?.page)?.reader();
        const delivery = await reader?.read({ credits, signal });
        if (delivery === undefined) {
          endsBehind = true;
          advance();
          return undefined;
        }
        const entry = { page: delivery.value, isAcknowledged: false };
        unacknowledged.push(entry);
        const release = (): void => {
          delivery.credit.release();
          // A stream that is left gives back what it holds, done or not.
          if (signal.aborted) return;
          entry.isAcknowledged = true;
          advance();
        };
        return { value: delivery.value, credit: withRelease(delivery.credit, release) };
      },
    };
  });
}

function withRelease(credit: Credit, release: () => void): Credit {
  return {
    get items() {
      return credit.items;
    },
    resize: (items) => credit.resize(items),
    release,
  };
}
