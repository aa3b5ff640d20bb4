import type { ServerResponse } from 'node:http';
import type { Clock } from '@headgate/throttle';
import { every } from '../run-view.ts';
import type { PageFrame, Part } from './page-parts.ts';
import { iconOf } from './status-page.ts';
import { type WorkFilter, workFilter } from './work-filter.ts';

export interface PageStreamsOptions {
  readonly clock: Clock;
  /** Takes a snapshot of the run, once for all viewers; returns the page of that moment, by filter. */
  readonly look: () => (filter: WorkFilter) => PageFrame;
  /** Names the page's script and style; a page that has others loads itself anew. */
  readonly version: string;
}

/** Pages that are kept up to date by server-sent events. */
export interface PageStreams {
  /** False where as many as there may be are looking. */
  readonly hasRoom: boolean;
  /** Looks at the run. The function sends a page all of that, and then what changes. `query`: of the page's address. */
  open(query: string): (response: ServerResponse) => void;
  /** Sends each the run's end. Resolves when they have it, or after half a second. */
  close(): Promise<void>;
}

const MOST = 24;
const EVERY_MS = 1_000;
/** The time that a page has for taking what it was sent. */
const SLOWEST_MS = 30_000;
const GOODBYE_MS = 500;
/** The time after which a browser tries again. */
const RETRY_MS = 2_000;

interface Client {
  readonly response: ServerResponse;
  readonly filter: WorkFilter;
  /** It was sent this; a page that does not take it is sent nothing more, and then all of the difference at once. */
  sent: PageFrame | undefined;
  fullSinceMs: number | undefined;
}

/** Works while the page is open somewhere; costs nothing otherwise. */
export function pageStreams({ clock, look, version }: PageStreamsOptions): PageStreams {
  const clients = new Set<Client>();
  let stop: (() => void) | undefined;

  const send = (client: Client, frame: PageFrame): void => {
    if (client.fullSinceMs !== undefined) return;
    const { response, sent } = client;
    client.sent = frame;
    if (!response.write(eventOf('page', changes(sent, frame, version)))) client.fullSinceMs = clock.monotonicMs();
  };
  const sendAll = (): void => {
    for (const { fullSinceMs, response } of clients) {
      if (fullSinceMs !== undefined && clock.monotonicMs() - fullSinceMs > SLOWEST_MS) response.destroy();
    }
    try {
      const frame = look();
      for (const client of clients) send(client, frame(client.filter));
    } catch {
      // They reconnect, and learn that the run can't be read.
      for (const { response } of clients) response.destroy();
    }
  };

  return {
    get hasRoom() {
      return clients.size < MOST;
    },
    open(query) {
      const filter = workFilter(query);
      const frame = look()(filter);
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
  return `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** The data of a `page` event: `page.mjs` changes the page by it. */
interface Changes {
  readonly version: string;
  readonly title: string;
  readonly icon: string;
  readonly kind: string;
  readonly words: string;
  readonly parts: readonly {
    readonly id: string;
    /** The keys of all its children, if they or their order changed. */
    readonly order?: readonly string[];
    /** The new and the changed ones among them. */
    readonly children: readonly (readonly [key: string, html: string])[];
  }[];
}

function changes(from: PageFrame | undefined, { title, state, parts }: PageFrame, version: string): Changes {
  const changed = [...parts].flatMap(([id, part]) => {
    const before: Part | undefined = from?.parts.get(id);
    const children = [...part].filter(([key, child]) => before?.get(key) !== child);
    const order = [...part.keys()];
    const old = before === undefined ? undefined : [...before.keys()];
    const isSameOrder = old?.length === order.length && order.every((key, i) => key === old[i]);
    return children.length === 0 && isSameOrder ? [] : [{ id, ...(!isSameOrder && { order }), children }];
  });
  return { version, title, icon: iconOf(state.tone), kind: state.kind, words: state.words, parts: changed };
}
