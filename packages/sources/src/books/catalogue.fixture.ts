import type { VirtualClock } from '@headgate/throttle/testing';
import type { Dispatcher } from 'undici';

/** A response without a record: the limit's, or that to a request for something unknown. */
export interface Refusal {
  readonly status: 404 | 429;
  readonly body: string;
}

export const REFUSALS = {
  errorMessage: { status: 404, body: '{"errorMessage":"Not Found"}' },
  message: { status: 404, body: '{"message":"Not Found"}' },
  empty: { status: 404, body: '' },
  text: { status: 404, body: 'Not Found' },
  'other text': { status: 404, body: '{"errorMessage":"No result for this request"}' },
  html: { status: 404, body: '<html><body>Not Found</body></html>' },
  limit: { status: 429, body: '{"message":"Limit Exceeded"}' },
} as const satisfies Record<string, Refusal>;

export interface CatalogueOptions {
  readonly clock: VirtualClock;
  readonly knows: (isbnOrAuthor: string) => boolean;
  /** Requests in any `windowMs`. Refused requests don't count. */
  readonly limit: number;
  readonly windowMs?: number;
  /** ISBNs and author pages on a day, counted from midnight; a function gets the number of the day from 0. Default: no quota. */
  readonly quota?: number | ((day: number) => number);
  /** The responses over the limit, in turn. */
  readonly refusals?: readonly Refusal[];
  /** The response to a request for something unknown. */
  readonly unknown?: Refusal;
  /** Answers a batch without any known ISBN with `unknown` instead of an empty list. */
  readonly isEmptyBatchUnknown?: boolean;
  /** Names of the keys that get 401. */
  readonly revoked?: ReadonlySet<string>;
  /** Records that each batch's response has in addition. */
  readonly additional?: readonly unknown[];
  /** Returns the books on a page of an author. Default: one book on page 1. */
  readonly pageOf?: (author: string, page: number) => readonly unknown[];
  /** True for the path of a page that doesn't exist. Default: an empty page after the last one. */
  readonly isBeyond?: (path: string) => boolean;
  /** Returns the ms from sending to the response. */
  readonly latencyMs?: () => number;
}

export interface SentRequest {
  readonly atMs: number;
  readonly credential: string;
  /** `book`, `author` or `books`. */
  readonly kind: string;
  readonly names: readonly string[];
  readonly status: number;
  /** True if the limit refused it. */
  readonly isRefused: boolean;
}

const DAY_MS = 86_400_000;

/** The books service in the same process and in virtual time. */
export class Catalogue {
  readonly requests: SentRequest[] = [];
  readonly #options: CatalogueOptions;
  readonly #grants = new Map<string, number[]>();
  readonly #used = new Map<string, number>();
  #refused = 0;
  #firstDay: number | undefined;

  constructor(options: CatalogueOptions) {
    this.#options = options;
  }

  /** Takes one request of the limit, as another program with the key does. Returns false if it is refused. */
  take(credential: string, cost = 1): boolean {
    const { clock, limit, windowMs = 1_000, quota = Infinity } = this.#options;
    const now = clock.monotonicMs();
    const recent = (this.#grants.get(credential) ?? []).filter((atMs) => atMs > now - windowMs);
    const number = Math.floor(clock.epochMs() / DAY_MS);
    this.#firstDay ??= number;
    const most = typeof quota === 'number' ? quota : quota(number - this.#firstDay);
    const day = `${credential} ${number}`;
    const used = this.#used.get(day) ?? 0;
    this.#grants.set(credential, recent);
    if (recent.length >= limit || used + cost > most) return false;
    recent.push(now);
    this.#used.set(day, used + cost);
    return true;
  }

  readonly dispatcher: Dispatcher = {
    dispatch: ({ path, headers, body }: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) => {
      const { clock, latencyMs = () => 0 } = this.#options;
      const controller = { abort: () => undefined } as unknown as Dispatcher.DispatchController;
      const respond = ({ status, text }: { readonly status: number; readonly text: string }): void => {
        handler.onResponseStart?.(controller, status, { 'content-type': 'application/json' }, '');
        handler.onResponseData?.(controller, Buffer.from(text));
        handler.onResponseEnd?.(controller, {});
      };
      const credential = (headers as Record<string, string>)['authorization'] ?? '';
      handler.onRequestStart?.(controller, null);
      const way = latencyMs() / 2;
      clock.schedule(way, () => {
        const response = this.#serve(credential, path, typeof body === 'string' ? body : '');
        clock.schedule(way, () => respond(response));
      });
      return true;
    },
  } as unknown as Dispatcher;

  #serve(credential: string, path: string, body: string): { readonly status: number; readonly text: string } {
    const { clock, refusals = [REFUSALS.errorMessage], revoked } = this.#options;
    if (revoked?.has(credential) === true) return { status: 401, text: '' };
    const { pathname, searchParams } = new URL(path, 'http://books.invalid');
    const [, kind = '', segment = ''] = pathname.split('/');
    const names = kind === 'books' ? body.replace('isbns=', '').split(',') : [decodeURIComponent(segment)];
    const isRefused = !this.take(credential, names.length);
    const refusal = refusals[this.#refused % refusals.length] ?? REFUSALS.errorMessage;
    if (isRefused) this.#refused += 1;
    const { status, text } = isRefused ? { status: refusal.status, text: refusal.body } : this.#answer(kind, names, path, searchParams);
    this.requests.push({ atMs: clock.monotonicMs(), credential, kind, names, status, isRefused });
    return { status, text };
  }

  #answer(
    kind: string,
    names: readonly string[],
    path: string,
    parameters: URLSearchParams,
  ): { readonly status: number; readonly text: string } {
    const { knows, additional = [], unknown = REFUSALS.errorMessage, isEmptyBatchUnknown, isBeyond, pageOf = onePage } = this.#options;
    const known = isBeyond?.(path) === true ? [] : names.filter(knows);
    const [name = ''] = names;
    if (known.length === 0 && (kind !== 'books' || isEmptyBatchUnknown === true)) return { status: unknown.status, text: unknown.body };
    const data = [...additional, ...known.map((isbn13) => ({ isbn13 }))];
    if (kind === 'books') return json({ total: known.length, requested: names.length, data });
    if (kind === 'book') return json({ book: { isbn13: name } });
    return json({ author: name, books: pageOf(name, Number(parameters.get('page') ?? 1)) });
  }
}

function json(value: unknown): { readonly status: number; readonly text: string } {
  return { status: 200, text: JSON.stringify(value) };
}

function onePage(author: string, page: number): readonly unknown[] {
  return page === 1 ? [{ title: `A book of ${author}` }] : [];
}
