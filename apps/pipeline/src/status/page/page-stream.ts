import type { ServerResponse } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import type { Clock } from '@headgate/throttle';
import { every } from '../run-view.ts';
import type { JobFilter } from '../format-row.ts';
import { safeText } from '../text/safe-text.ts';
import { jobFilter } from './job-filter.ts';
import type { PageJobs, PageScreen } from './page-screen.ts';

/** The content of the page that changes during a run. */
export type PageFrame = PageScreen & PageJobs;

export interface PageStreamsOptions {
  readonly clock: Clock;
  /** Reads the run. Returns a function that creates the current page for a filter. */
  readonly frames: () => (filter: JobFilter) => PageFrame;
  /** Hash of the page's HTML, script and style. An open page with another version reloads. */
  readonly version: string;
}

/** Pages that are kept up to date by server-sent events. */
export interface PageStreams {
  /** False if the maximum number of pages is open. */
  readonly hasRoom: boolean;
  /** Reads the run. The returned function sends a page its whole content, and later what changes. `query` is the query of the page's address. */
  open(query: string): (response: ServerResponse) => void;
  /** Sends the end of the run to every page. Resolves when their connections are closed, or after half a second. */
  close(): Promise<void>;
}

const MOST = 24;
const EVERY_MS = 1_000;
/** Maximum time for a page to read what was sent, ms. */
const SLOWEST_MS = 30_000;
const GOODBYE_MS = 500;
/** Time after which a browser reconnects, ms. */
const RETRY_MS = 2_000;

interface Client {
  readonly response: ServerResponse;
  readonly filter: JobFilter;
  /** The last frame that was sent. A page that reads slowly gets no other frame until it has read this one, and then gets all changes at once. */
  sent: PageFrame | undefined;
  fullSinceMs: number | undefined;
}

/** Creates the streams. They read the run only while a page is open. */
export function pageStreams({ clock, frames, version }: PageStreamsOptions): PageStreams {
  const clients = new Set<Client>();
  let stop: (() => void) | undefined;

  const send = (client: Client, frame: PageFrame): void => {
    if (client.fullSinceMs !== undefined) return;
    const { response, sent } = client;
    client.sent = frame;
    if (!response.write(eventOf('page', { version, screen: changes(sent, frame) }))) client.fullSinceMs = clock.monotonicMs();
  };
  const sendAll = (): void => {
    for (const { fullSinceMs, response } of clients) {
      if (fullSinceMs !== undefined && clock.monotonicMs() - fullSinceMs > SLOWEST_MS) response.destroy();
    }
    try {
      const frame = frames();
      for (const client of clients) send(client, frame(client.filter));
    } catch {
      // The pages reconnect, and then learn that the run can't be read.
      for (const { response } of clients) response.destroy();
    }
  };

  return {
    get hasRoom() {
      return clients.size < MOST;
    },
    open(query) {
      const filter = jobFilter(query);
      const frame = frames()(filter);
      return (response) => {
        const client: Client = { response, filter, sent: undefined, fullSinceMs: undefined };
        clients.add(client);
        stop ??= every(clock, EVERY_MS, sendAll);
        response.on('drain', () => (client.fullSinceMs = undefined));
        response.on('error', () => undefined);
        response.on('close', () => {
          clients.delete(client);
          if (clients.size > 0) return;
          stop?.();
          stop = undefined;
        });
        response.write(`retry: ${RETRY_MS}\n\n`);
        send(client, frame);
      };
    },
    async close() {
      sendAll();
      stop?.();
      const ends = [...clients].map(({ response }) => new Promise<void>((resolve) => void response.on('close', resolve)));
      for (const { response } of clients) response.end(eventOf('end', {}));
      let cancel = (): void => undefined;
      const late = new Promise<void>((resolve) => (cancel = clock.schedule(GOODBYE_MS, resolve)));
      await Promise.race([Promise.all(ends), late]);
      cancel();
    },
  };
}

function eventOf(name: string, data: unknown): string {
  return `event: ${name}\ndata: ${JSON.stringify(data, (_, value: unknown) => (typeof value === 'string' ? safeText(value, 1_000) : value))}\n\n`;
}

/** The parts of a frame that differ from the one before. */
function changes(from: PageFrame | undefined, frame: PageFrame): Partial<PageFrame> {
  const before = new Map<string, unknown>(Object.entries(from ?? {}));
  return Object.fromEntries(Object.entries(frame).filter(([part, value]) => !isDeepStrictEqual(before.get(part), value)));
}
