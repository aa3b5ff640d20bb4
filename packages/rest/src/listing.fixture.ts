import type { ClassifyContext } from '@headgate/sources';
import type { ApiAnswer } from './api.fixture.ts';
import { verdictOf } from './answer.ts';
import { type Carried, carriedOn, writtenOf } from './carried.ts';
import { type Cursor, firstCursor } from './cursor.ts';
import { restOptions } from './language.ts';
import { type RestQuery, httpRequest } from './request.ts';
import { type Stream, streamsOf } from './streams.ts';

/** More requests than any listing of these tests needs. */
const MAX_REQUESTS = 400;

export interface Asked {
  readonly query: URLSearchParams;
  readonly path: string;
}

interface ListingOptions {
  readonly answer: (asked: Asked) => ApiAnswer;
  /** The value that the last listing carried. */
  readonly carried?: Carried | undefined;
  /** Our clock, epoch ms. */
  readonly now: number;
}

/** The stream `items` of a section. */
export function itemsStream(items: Readonly<Record<string, unknown>>): Stream {
  const section = restOptions.parse({
    baseUrl: 'http://127.0.0.1',
    credentials: [{ name: 'app' }],
    limit: { requests: 1, window: '1s' },
    streams: { items },
  });
  const { items: stream } = streamsOf(section);
  if (stream === undefined) throw new Error('no stream');
  return stream;
}

/** Lists a stream as a run does, without HTTP and without a log. */
export function listed(stream: Stream, { answer, carried: before, now: epochMs }: ListingOptions) {
  const written: unknown[] = [];
  const notices = new Set<string | undefined>();
  let now = before;
  let requests = 0;
  for (let cursor: Cursor | undefined = firstCursor(stream, before, epochMs); cursor !== undefined;) {
    if ((requests += 1) > MAX_REQUESTS) throw new Error('the listing never ends');
    const query: RestQuery = { stream: 'items', fields: {}, cursor };
    const { url, path = '', query: parameters = {} } = httpRequest('http://127.0.0.1', stream, query);
    const asked = new URL(url ?? path, 'http://127.0.0.1');
    for (const [name, value] of Object.entries(parameters)) asked.searchParams.set(name, String(value));
    const { status = 200, headers = {}, body } = answer({ query: asked.searchParams, path: asked.pathname });
    const context: ClassifyContext<RestQuery> = {
      service: 'api',
      subject: 'items',
      credential: 'app',
      epochMs,
      query,
      redact: String,
      recentlyRefused: false,
    };
    const verdict = verdictOf(stream, [], { status, headers, body: Buffer.from(JSON.stringify(body)) }, context);
    if (verdict.kind === 'fatal') return { written, notices, requests, error: verdict.error };
    if (verdict.kind !== 'ok') throw new Error(JSON.stringify(verdict));
    const { value: page } = verdict;
    const known = new Set([...writtenOf(before), ...writtenOf(now)]);
    written.push(...page.records.filter((_, i) => !known.has(page.digests[i] ?? '')));
    now = carriedOn(stream, page, { before, now, subject: 'items', service: 'api' });
    notices.add(page.notice);
    // A checkpoint stores the cursor and the carried value as JSON.
    cursor = page.next && (JSON.parse(JSON.stringify(page.next)) as Cursor);
    now = now && (JSON.parse(JSON.stringify(now)) as Carried);
  }
  return { written, notices, requests, carried: now };
}
