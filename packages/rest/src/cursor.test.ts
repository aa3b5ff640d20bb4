import type { ClassifyContext } from '@headgate/sources';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { verdictOf } from './answer.ts';
import { type Cursor, firstCursor } from './cursor.ts';
import { restOptions } from './language.ts';
import type { RestQuery } from './request.ts';

const PAGE = 4;

const { streams } = restOptions.parse({
  baseUrl: 'http://127.0.0.1',
  credentials: [{ name: 'app' }],
  limit: { requests: 1, window: '1s' },
  streams: {
    items: {
      get: '/items',
      query: { since: '{since}' },
      records: '$.items[*]',
      since: { from: '$.at', order: 'ascending' },
      pages: { cursor: '$.next', as: { query: 'cursor' } },
      errors: [{ status: 410, then: 'restart' }],
    },
  },
});

it('a listing that restarts after each page skips only the records of its newest time, however often it restarts', () => {
  // Fewer records of a time than a page has, so each page contains newer ones.
  const times = fc.array(fc.integer({ min: 1, max: PAGE - 1 }), { minLength: 1, maxLength: 30 });
  fc.assert(
    fc.property(times, (counts) => {
      const { items: stream } = streams;
      if (stream === undefined) throw new Error('no stream');
      const items = counts.flatMap((count, minute) =>
        Array.from({ length: count }, (_, i) => ({ id: `${minute}-${i}`, at: new Date(Date.UTC(2024, 0, 1, 0, minute)).toISOString() })),
      );
      const receivedMs = Date.UTC(2025, 0, 1);
      const answerTo = ({ at, since }: Cursor): { readonly status: number; readonly body: unknown } => {
        if (at !== null) return { status: 410, body: {} };
        const found = items.filter((item) => item.at >= String(since ?? ''));
        return { status: 200, body: { items: found.slice(0, PAGE), next: found.length > PAGE ? 'expired' : null } };
      };
      const written: unknown[] = [];
      for (let cursor: Cursor | undefined = firstCursor(stream, undefined, receivedMs); cursor !== undefined;) {
        const { status, body } = answerTo(cursor);
        const query: RestQuery = { stream: 'items', fields: {}, cursor };
        const context: ClassifyContext<RestQuery> = {
          service: 'api',
          subject: 'items',
          credential: 'app',
          epochMs: receivedMs,
          query,
          redact: String,
          recentlyRefused: false,
        };
        const verdict = verdictOf(stream, [], { status, headers: {}, body: Buffer.from(JSON.stringify(body)) }, context);
        if (verdict.kind !== 'ok') throw new Error(verdict.kind);
        written.push(...verdict.value.records);
        cursor = verdict.value.next;
        expect(cursor?.seen?.length ?? 0).toBeLessThan(PAGE);
      }
      expect(written).toEqual(items);
    }),
  );
});
