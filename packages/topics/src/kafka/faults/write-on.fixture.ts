import { setTimeout as sleep } from 'node:timers/promises';
import type { LaneWriter } from '../../topic-log.ts';
import type { Pages } from './pages.fixture.ts';

export interface Writing extends AsyncDisposable {
  /** Resolves when this many more pages are acknowledged. */
  further(pages: number): Promise<void>;
  /** Stops after the page in flight; rejects with the error of a write. */
  end(): Promise<void>;
}

export function writeOn(pages: Pages, writer: LaneWriter): Writing {
  let over = false;
  const work = (async () => {
    while (!over) await pages.write(writer);
  })();
  work.catch(() => undefined);
  const end = async (): Promise<void> => {
    over = true;
    await work;
  };
  return {
    async further(count) {
      const goal = pages.next + count;
      while (pages.next < goal) await Promise.race([sleep(10), work]);
    },
    end,
    // Doesn't wait for a write in flight, which may wait for a broker. That write ends when its log is closed.
    async [Symbol.asyncDispose]() {
      over = true;
      await Promise.resolve();
    },
  };
}
