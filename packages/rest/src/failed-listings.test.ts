import { openDeadLetters, replayDeadLetters, start } from '@headgate/pipeline';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { startApi } from './api.fixture.ts';
import { valuesOf } from './cut-runs.fixture.ts';
import { bearer } from './list.fixture.ts';
import { rest } from './rest.ts';
import { sharedLog } from './shared-log.fixture.ts';

const RUNS = process.env['HEADGATE_TORTURE'] === '1' ? 2_000 : 25;

const shareOfLog = sharedLog();

const WAYS = {
  page: { page: { query: 'page' } },
  offset: { offset: { query: 'offset' } },
  link: { link: 'next' },
  cursor: { cursor: '$.cursor', as: { query: 'after' } },
} as const;
type Way = keyof typeof WAYS;

interface Row {
  readonly id: number;
  readonly version: number;
  readonly at: string;
  /** Missing in a record that doesn't fit. */
  readonly name?: string;
}

const MINUTE = 60_000;
const FIRST = Date.UTC(2024, 0, 1);
const timeOf = (minute: number): string => new Date(FIRST + minute * MINUTE).toISOString();

it(
  'each version of a row is written once, whichever listings fail, and whichever of them are replayed',
  { timeout: 3_600_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          way: fc.constantFrom(...(Object.keys(WAYS) as Way[])),
          order: fc.constantFrom('ascending', 'fixed'),
          size: fc.integer({ min: 2, max: 3 }),
          rounds: fc.array(
            fc.record({
              changed: fc.uniqueArray(fc.nat(11), { minLength: 1, maxLength: 8 }),
              unfit: fc.uniqueArray(fc.nat(11), { maxLength: 4 }),
              failsAt: fc.option(fc.nat(4), { nil: undefined }),
              replays: fc.boolean(),
            }),
            { minLength: 2, maxLength: 4 },
          ),
        }),
        async ({ way, order, size, rounds }) => {
          const rows = new Map<number, Row>();
          const truth: string[] = [];
          let [minute, asked, failsAt] = [0, 0, -1];
          await using api = await startApi({
            routes: {
              'GET /items': ({ query, url, path }) => {
                // Fails until the run ends, also when the request is retried.
                if (failsAt >= 0 && asked++ >= failsAt) return { body: {} };
                // A cursor names the last row's place, so it finds the next one whatever has moved. A page number in disguise would not.
                const placeOf = ({ id, at }: Row): string => (order === 'fixed' ? String(id).padStart(2, '0') : at);
                const found = [...rows.values()]
                  .filter((row) => row.at >= (query.get('since') ?? '') && placeOf(row) > (query.get('after') ?? ''))
                  .toSorted((one, other) => (placeOf(one) < placeOf(other) ? -1 : 1));
                const page = Number(query.get('page') ?? 1);
                const from = Number(query.get('offset') ?? (page - 1) * size);
                const more = from + size < found.length;
                const items = found.slice(from, from + size);
                const end = items.at(-1);
                const next = new URLSearchParams({ ...Object.fromEntries(query), page: String(page + 1) }).toString();
                return {
                  headers: {
                    // The clock of the service, which is behind the next changes.
                    date: new Date(FIRST + minute * MINUTE + 1_000).toUTCString(),
                    ...(more && { link: `<${url}${path}?${next}>; rel="next"` }),
                  },
                  body: { items, cursor: more && end !== undefined ? placeOf(end) : null },
                };
              },
            },
          });
          const items = {
            get: '/items',
            query: { since: '{since}' },
            records: '$.items[*]',
            key: ['$.name', '$.id'],
            since: { from: '$.at', order },
            pages: WAYS[way],
          };
          const pipeline = rest('api')({ ...bearer, baseUrl: api.url, streams: { items } });
          const share = shareOfLog();
          const run = async (adds: boolean): Promise<void> => {
            await using running = await start({ ...share, pipelines: [pipeline] });
            if (adds) await running.enqueue('api', [{ stream: 'items' }]);
            expect((await running.done).failures).toEqual([]);
          };
          const replay = async () =>
            await replayDeadLetters({
              log: share.log,
              group: share.group,
              names: (topic) => share.topics.prefix + topic,
              requests: pipeline.requests,
            });
          for (const [i, round] of rounds.entries()) {
            for (const id of round.changed) {
              const name = round.unfit.includes(id) ? {} : { name: `n${id}` };
              rows.set(id, { id, version: (rows.get(id)?.version ?? 0) + 1, at: timeOf((minute += 1)), ...name });
            }
            [asked, failsAt] = [0, i + 1 < rounds.length ? (round.failsAt ?? -1) : -1];
            // A version that a failed listing didn't reach can be replaced before a later listing.
            await run(i > 0);
            failsAt = -1;
            if (!round.replays) continue;
            await replay();
            await run(false);
          }
          // The records that don't fit are mended, without a new time of change.
          for (const [id, row] of rows) rows.set(id, { ...row, name: `n${id}` });
          // One listing completes what has failed, and one more reads what has changed since then. A replay then finds nothing.
          await run(true);
          await run(true);
          for (const { id, version } of rows.values()) truth.push(`${id}/${version}`);
          const found = ((await valuesOf(share, 'api.items')) as Row[]).map(({ id, version }) => `${id}/${version}`);
          expect(found.filter((one, at) => found.indexOf(one) !== at)).toEqual([]);
          expect(truth.filter((one) => !found.includes(one))).toEqual([]);
          await replay();
          await run(false);
          expect(await valuesOf(share, 'api.items')).toHaveLength(found.length);
          const names = (topic: string): string => share.topics.prefix + topic;
          expect(await Array.fromAsync(openDeadLetters({ log: share.log, group: share.group, names, pipeline: 'api' }))).toEqual([]);
        },
      ),
      { numRuns: RUNS },
    );
  },
);
