import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { type ApiAnswer, type ApiCall, startApi } from './api.fixture.ts';
import { runCut, valuesOf } from './cut-runs.fixture.ts';
import type { Section } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const RUNS = process.env['HEADGATE_TORTURE'] === '1' ? 2_000 : 60;

const shareOfLog = sharedLog();
const credentials = [{ name: 'app', bearer: 'token' }];
const limit = { requests: 900, window: '100ms' };

const WAYS = {
  link: { pages: { link: 'next' }, method: 'get' },
  next: { pages: { next: '$.next' }, method: 'get' },
  cursor: { pages: { cursor: '$.cursor', as: { query: 'at' }, end: 'end' }, method: 'get' },
  last: { pages: { cursor: '$.items[-1].id', as: { header: 'x-after' }, while: '$.more' }, method: 'get' },
  body: { pages: { cursor: '$.cursor', as: { body: '$.page.at' }, end: 'end' }, method: 'post' },
  page: { pages: { page: { query: 'page' } }, method: 'get' },
  offset: { pages: { offset: { query: 'offset' }, total: '$.total' }, method: 'get' },
} as const;
type Way = keyof typeof WAYS;

interface Entry {
  readonly id: string;
}

function pageOf(all: readonly Entry[], size: number, { query, headers, body, path, url }: ApiCall): ApiAnswer {
  const after = headers['x-after'];
  const { page: inBody } = Object(body) as { readonly page?: { readonly at?: string } };
  const from =
    after === undefined
      ? Number(inBody?.at ?? query.get('at') ?? query.get('offset') ?? (Number(query.get('page') ?? 1) - 1) * size)
      : all.findIndex(({ id }) => id === after) + 1;
  const items = all.slice(from, from + size);
  const more = from + size < all.length;
  const cursor = more ? String(from + size) : 'end';
  const given = new URLSearchParams(query);
  given.set('at', cursor);
  const next = `${path}?${given.toString()}`;
  return {
    headers: more ? { link: `<${url}${next}>; rel="next"` } : {},
    body: { items, more, cursor, total: all.length, next: more ? next : null },
  };
}

const cuts = fc.array(fc.record({ at: fc.integer({ min: 1, max: 40 }), isDurable: fc.boolean() }), { maxLength: 4 });

it(
  'writes each record of each level once, whatever the way to the next page and wherever it is cut off',
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
          size: fc.integer({ min: 1, max: 3 }),
          counts: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }),
          cuts,
        }),
        async ({ way, size, counts, cuts: all }) => {
          const { pages, method } = WAYS[way];
          const childrenOf = (above: string, level: number): Entry[] =>
            Array.from({ length: counts[level] ?? 0 }, (_, i) => ({ id: above === '' ? String(i) : `${above}-${i}` }));
          const truth = counts.map((_, level) => {
            let above = [''];
            for (let i = 0; i <= level; i += 1) above = above.flatMap((one) => childrenOf(one, i).map(({ id }) => id));
            return above.toSorted();
          });
          const names = counts.map((_, level) => `level${level}`);
          const streams = Object.fromEntries(
            names.map((name, level) => [
              name,
              {
                [method]: level === 0 ? '/level0' : `/level${level}/{above}`,
                records: '$.items[*]',
                key: '$.id',
                pages,
                ...(level > 0 && { for: { each: `level${level - 1}`, with: { above: '$.id' } } }),
              },
            ]),
          );
          const routes = Object.fromEntries(
            names.map((_, level) => [
              `${method.toUpperCase()} ${level === 0 ? '/level0' : `/level${level}/{above}`}`,
              (call: ApiCall) => pageOf(childrenOf(call.params['above'] ?? '', level), size, call),
            ]),
          );
          await using api = await startApi({ routes });
          const section: Section = { baseUrl: api.url, credentials, limit, streams };
          const log = shareOfLog();
          await runCut(log, rest('api')(section), all);
          for (const [level, name] of names.entries()) {
            const found = (await valuesOf(log, `api.${name}`)).map((value) => (value as Entry).id);
            expect(found.toSorted()).toEqual(truth[level]);
          }
          expect(await valuesOf(log, 'api.dead-letters')).toEqual([]);
        },
      ),
      { numRuns: RUNS },
    );
  },
);

interface Version extends Entry {
  readonly version: number;
  readonly at: string;
}

const MINUTE = 60_000;
const OVERLAP = 5;
/** Start of the test data. A listing in windows reaches up to now, so the data begins about 40 minutes ago. */
const BEGAN = Math.floor(Date.now() / MINUTE - 40) * MINUTE;
const timeOf = (minute: number): string => new Date(BEGAN + minute * MINUTE).toISOString();

it(
  'writes each version of a record once, also of equal times, late ones, and those at the end of a window',
  { timeout: 3_600_000 },
  async () => {
    const change = fc.record({ id: fc.integer({ min: 0, max: 5 }), later: fc.integer({ min: -OVERLAP, max: 3 }) });
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
          form: fc.constantFrom('{since}', '{since:ms}', '{since:%Y-%m-%dT%H:%MZ}', '{since:date}', undefined),
          window: fc.constantFrom(undefined, '3m', '8m'),
          isEndIncluded: fc.boolean(),
          size: fc.integer({ min: 1, max: 4 }),
          rounds: fc.array(fc.record({ changes: fc.array(change, { maxLength: 5 }), cuts }), { minLength: 1, maxLength: 4 }),
        }),
        async ({ way, form, window, isEndIncluded, size, rounds }) => {
          const { pages, method } = WAYS[way];
          const now = new Map<number, Version>();
          const truth: string[] = [];
          let newest = 10;
          const answer = (call: ApiCall): ApiAnswer => {
            const since = call.query.get('since') ?? '';
            const from = /^\d+$/.test(since) ? new Date(Number(since)).toISOString() : since.replace(/^(.{16})Z$/, '$1:00.000Z');
            const until = call.query.get('until');
            const isBefore = (at: string): boolean => until === null || (isEndIncluded ? at <= until : at < until);
            return pageOf(
              [...now.values()].filter(({ at }) => at >= from && isBefore(at)),
              size,
              call,
            );
          };
          await using api = await startApi({ routes: { [`${method.toUpperCase()} /items`]: answer } });
          const items = {
            [method]: '/items',
            records: '$.items[*]',
            key: '$.id',
            pages,
            since: {
              from: '$.at',
              order: 'fixed' as const,
              overlap: `${OVERLAP}m`,
              ...(window !== undefined && { window, first: timeOf(0) }),
            },
            query: { ...(form !== undefined && { since: form }), ...(window !== undefined && { until: '{until}' }) },
          };
          const pipeline = rest('api')({ baseUrl: api.url, credentials, limit, streams: { items } });
          const log = shareOfLog();
          for (const [round, { changes, cuts: all }] of rounds.entries()) {
            // `later` can be negative: a late change is at most `OVERLAP` minutes older than the newest change of the earlier rounds.
            const seen = newest;
            const changed = new Set<number>();
            for (const { id, later } of changes) {
              if (changed.has(id)) continue;
              changed.add(id);
              const version = (now.get(id)?.version ?? 0) + 1;
              now.set(id, { id: String(id), version, at: timeOf(seen + later) });
              newest = Math.max(newest, seen + later);
            }
            for (const id of changed) truth.push(`${id}/${now.get(id)?.version}`);
            if (round > 0) await log.log.append([{ topic: `${log.topics.prefix}api.requests`, key: 'items', value: '{"stream":"items"}' }]);
            await runCut(log, pipeline, all);
          }
          const found = (await valuesOf(log, 'api.items')).map((value) => `${(value as Version).id}/${(value as Version).version}`);
          expect(found.toSorted()).toEqual(truth.toSorted());
        },
      ),
      { numRuns: RUNS },
    );
  },
);
