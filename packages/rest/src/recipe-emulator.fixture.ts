import type { Clock } from '@headgate/throttle';
import type { ApiAnswer, ApiCall, ApiOptions } from './api.fixture.ts';

/** Records per page of every emulator. Services return up to 1,000, but a test needs many pages of few records. */
const PAGE = 3;
const YEAR_MS = 366 * 86_400_000;

/** A state of a row, from one change to the next. */
export interface Version {
  readonly id: number;
  /** Number of the version, from 1. */
  readonly version: number;
  /** Time of the change as the service tells it, epoch ms. */
  readonly at: number;
  /** Time at which the row was created, as the service tells it, epoch ms. */
  readonly created: number;
  /** Time from which lists have this version instead of the one before, epoch ms. */
  readonly listedAt: number;
  readonly isGone: boolean;
}

export type EditKind = 'add' | 'change' | 'remove';

/** A change of a service's data, and the time that passes before it. The numbers choose a table and a row. */
export interface Edit {
  readonly kind: EditKind;
  readonly table: number;
  readonly row: number;
  readonly waitMs: number;
  /** Part of the table's `lagMs`, from 0 to 1, after which lists show the change. */
  readonly lag: number;
}

export interface TableOptions {
  /** Stream whose topic gets the rows. */
  readonly stream: string;
  /** Ways in which rows change. Default: all. */
  readonly edits?: readonly EditKind[];
  /** Precision of times in ms. Default: 1,000. */
  readonly precisionMs?: number;
  /** Rounds times to their precision. Default: down. */
  readonly round?: (units: number) => number;
  /** Maximum time in ms until lists show a change. Default: 0. */
  readonly lagMs?: number;
  /** Part of `lagMs` that each change takes, from 0 to 1. Default: what the edit says. */
  readonly lag?: number | undefined;
  /**
   * `changes`: each version is written once. `whole`: each listing writes the whole list. `moving`: the same, but rows that move between two pages
   * can be missing or come twice. Default: `changes`.
   */
  readonly lists?: 'changes' | 'whole' | 'moving';
  /** Values that stand for a version in the topic. Default: its tag. */
  readonly tags?: (version: Version) => readonly string[];
  /** Number of rows at the beginning. Default: any. */
  readonly first?: number | undefined;
  /** Stream whose records each of these rows has, and the tags of its records. */
  readonly child?: { readonly stream: string; readonly tags: (version: Version) => readonly string[] } | undefined;
}

/** Text that identifies a version. Emulators write it into each record as `tag`. */
export function tagOf({ id, version }: Version): string {
  return `${id}/${version}`;
}

export class Table {
  readonly options: Required<TableOptions>;
  readonly #history = new Map<number, Version[]>();
  readonly #service: EmulatedService;

  constructor(service: EmulatedService, options: TableOptions) {
    this.#service = service;
    this.options = {
      edits: ['add', 'change', 'remove'],
      precisionMs: 1_000,
      round: Math.floor,
      lagMs: 0,
      lag: undefined,
      first: undefined,
      child: undefined,
      lists: 'changes',
      tags: (version) => [tagOf(version)],
      ...options,
    };
  }

  edit({ kind, row, lag }: Omit<Edit, 'waitMs' | 'table'>): void {
    const present = [...this.#history.values()].filter((versions) => versions.at(-1)?.isGone === false);
    const before = kind === 'add' ? undefined : present[row % present.length]?.at(-1);
    if (!this.options.edits.includes(kind) || (kind !== 'add' && before === undefined)) return;
    this.#put(kind, this.#service.now(), before, lag);
  }

  /** Adds a row at a time, epoch ms. */
  fill(at: number): void {
    this.#put('add', at, undefined, 0);
  }

  #put(kind: EditKind, now: number, before: Version | undefined, lag: number): void {
    const { precisionMs, round, lagMs, lag: own = lag } = this.options;
    const id = before?.id ?? this.#service.nextId();
    const at = round(now / precisionMs) * precisionMs;
    const version: Version = {
      id,
      version: (before?.version ?? 0) + 1,
      at,
      created: before?.created ?? at,
      listedAt: Math.max(before?.listedAt ?? 0, now + own * lagMs),
      isGone: kind === 'remove',
    };
    this.#history.set(id, [...(this.#history.get(id) ?? []), version]);
  }

  /** The rows that lists show now, by ID. */
  rows(): readonly Version[] {
    const now = this.#service.now();
    const shown = [...this.#history.values()].map((versions) => versions.findLast(({ listedAt }) => listedAt <= now));
    return shown.filter((version) => version !== undefined).filter(({ isGone }) => !isGone);
  }

  /** The newest version of a row, even if the row is gone. */
  newest(id: number): Version | undefined {
    return this.#history.get(id)?.at(-1);
  }

  /** The versions that every list had from one time to another, epoch ms. */
  during(from: number, to: number): readonly Version[] {
    return [...this.#history.values()].flatMap((versions) =>
      versions.filter(
        ({ listedAt, isGone }, i) => !isGone && listedAt <= from && versions.slice(i + 1).every((later) => later.listedAt > to),
      ),
    );
  }
}

/** A request that the service's documentation doesn't permit. */
class RefusedError extends Error {
  readonly answer: ApiAnswer & { readonly status: number };

  constructor(message: string, status: number, body: unknown) {
    super(message);
    this.answer = { status, body };
  }
}

/** Which of the behaviors that a service's documentation leaves open an emulator shows. */
export interface Unknowns {
  /** Whether a gateway answers some requests with a page of HTML. */
  readonly isFlaky: boolean;
  /** Whether the parameter with the time excludes that time. */
  readonly isExclusive: boolean;
  /** Whether cursors count rows, instead of naming the last one. */
  readonly isCounted: boolean;
  /** Chooses one of several, such as a time zone. */
  readonly choice: number;
}

/** The clock, the tables and the refusals of an emulated service. */
export class EmulatedService {
  readonly tables: Table[] = [];
  /** Requests that the service refused although its documentation permits them. Empty for a correct recipe. */
  readonly refused: string[] = [];
  /** Number of refusals that the documentation announces. */
  announced = 0;
  /** Ms by which the service's clock is ahead of the run's. */
  aheadMs = 0;
  readonly unknowns: Unknowns;
  readonly #clock: Clock;
  readonly #asked = new Map<string, number[]>();
  #lastId = 0;
  #requests = 0;

  constructor(clock: Clock, unknowns: Unknowns) {
    this.#clock = clock;
    this.unknowns = unknowns;
  }

  now(): number {
    return this.#clock.epochMs() + this.aheadMs;
  }

  nextId(): number {
    return (this.#lastId += 1);
  }

  table(options: TableOptions): Table {
    const table = new Table(this, options);
    this.tables.push(table);
    return table;
  }

  apply({ waitMs, table, ...edit }: Edit): void {
    this.aheadMs += waitMs;
    this.tables[table % this.tables.length]?.edit(edit);
  }

  /** Refuses a request that the documentation forbids. */
  refuse(message: string, status = 400, body: unknown = { message }): never {
    throw new RefusedError(message, status, body);
  }

  /** Refuses the request unless a condition holds. */
  must(condition: boolean, message: string, status?: number, body?: unknown): void {
    if (!condition) this.refuse(message, status, body);
  }

  /** A refusal that the documentation announces, and that the recipe expects. */
  announce(answer: ApiAnswer): ApiAnswer {
    this.announced += 1;
    return answer;
  }

  /** Refuses a request over the documented limit. */
  count(name: string, requests: number, windowMs: number): void {
    const now = this.now();
    const asked = (this.#asked.get(name) ?? []).filter((at) => at > now - windowMs);
    this.#asked.set(name, [...asked, now]);
    this.must(asked.length < requests, `more than ${requests} requests in ${windowMs} ms`, 429);
  }

  /** Refuses the request unless the number of records per page is allowed. */
  size(given: unknown, most: number): void {
    this.must(/^\d+$/.test(String(given)) && Number(given) >= 1 && Number(given) <= most, `a page of ${String(given)} records`);
  }

  /** Routes that tell the service's time, and that note what they refuse. `edit` runs before each request. */
  routes(given: ApiOptions['routes'], edit: () => void): ApiOptions['routes'] {
    return Object.fromEntries(
      Object.entries(given).map(([route, answer]) => [
        route,
        async (call: ApiCall) => {
          edit();
          const headers = { date: new Date(this.now()).toUTCString() };
          if (this.unknowns.isFlaky && (this.#requests += 1) % 7 === 4)
            return this.announce({ status: 502, headers: { ...headers, 'content-type': 'text/html' }, body: '<h1>Bad Gateway</h1>' });
          try {
            const { headers: own, ...rest } = await answer(call);
            return { ...rest, headers: { ...headers, ...own } };
          } catch (error) {
            this.refused.push(`${route}: ${String(error)}`);
            return { ...(error instanceof RefusedError ? error.answer : { status: 400 }), headers };
          }
        },
      ]),
    );
  }
}

/** Compares rows by a time, and rows of one time by their ID. */
export function by(time: (version: Version) => number, sign = 1) {
  return (one: Version, other: Version): number => sign * (time(one) - time(other)) || sign * (one.id - other.id);
}

export const byId = by(() => 0);

/** The page with this number, from 1, and the number of pages. */
export function numbered<Row>(rows: readonly Row[], page: number) {
  return { rows: rows.slice((page - 1) * PAGE, page * PAGE), pages: Math.ceil(rows.length / PAGE) };
}

/** The page that begins after a number of rows. `more`: the number of rows before the next page; undefined on the last one. */
export function fromOffset<Row>(rows: readonly Row[], offset: number) {
  const end = offset + PAGE;
  return { rows: rows.slice(offset, end), more: end < rows.length ? end : undefined };
}

/** A page after a cursor that names the last row by its place in the order. */
export function afterRow(rows: readonly Version[], order: (one: Version, other: Version) => number, cursor: string | null | undefined) {
  const last = cursor === null || cursor === undefined ? undefined : (JSON.parse(cursor) as Version);
  const rest = last === undefined ? rows : rows.filter((row) => order(row, last) > 0);
  const page = rest.slice(0, PAGE);
  return { rows: page, more: rest.length > PAGE ? JSON.stringify(page.at(-1)) : undefined };
}

/** A page, with the address of the next one in a Link header. */
export function linked<Row>(rows: readonly Row[], { url, path, query }: ApiCall, record: (row: Row) => unknown): ApiAnswer {
  const number = Number(query.get('page') ?? 1);
  const { rows: page, pages } = numbered(rows, number);
  const next = new URLSearchParams(query);
  next.set('page', String(number + 1));
  return {
    headers: number < pages ? { link: `<${url}${path}?${next.toString()}>; rel="next"` } : {},
    body: page.map((row) => record(row)),
  };
}

/** ISO 8601 in UTC without fractions. */
export function iso(ms: number): string {
  return new Date(ms).toISOString().replace(/\.\d+Z$/, 'Z');
}

export function authorized(value: string) {
  return ({ headers }: ApiCall): boolean => headers['authorization'] === value;
}

export function basic(text: string): (call: ApiCall) => boolean {
  return authorized(`Basic ${Buffer.from(text).toString('base64')}`);
}

export { YEAR_MS };
