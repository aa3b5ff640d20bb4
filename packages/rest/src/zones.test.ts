import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Carried } from './carried.ts';
import { itemsStream, listed } from './listing.fixture.ts';
import { type Zone, zoneOf } from './zone.ts';

const ZONES = ['UTC', 'Asia/Tokyo', 'America/New_York', 'Europe/Athens', 'Asia/Kathmandu', 'America/St_Johns'];
const MINUTE = 60_000;
const START = Date.UTC(2026, 0, 10);

/** The parameter of a service, and how it reads what it is sent. */
const PARAMETERS = [
  { text: '{since}', read: (sent: string, clocks: Zone) => clocks.instantOf(Date.parse(`${sent.replace(' ', 'T')}Z`)) },
  { text: '{since:%Y/%m/%d %H:%M}', read: (sent: string, clocks: Zone) => clocks.instantOf(Date.parse(`${sent} GMT`)) },
  { text: '{since:%Y-%m-%dT%H:%M:%S}Z', read: (sent: string) => Date.parse(sent) },
  { text: '{since:seconds}', read: (sent: string) => Number(sent) * 1_000 },
];

it('a service whose times name no zone loses no record, and repeats none, in any zone and with any parameter', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...ZONES),
      fc.constantFrom(...PARAMETERS),
      fc.array(fc.array(fc.integer({ min: 1, max: 600 }), { minLength: 1, maxLength: 4 }), { minLength: 3, maxLength: 3 }),
      (zone, { text, read }, rounds) => {
        const clocks = zoneOf(zone);
        const stream = itemsStream({ get: '/', query: { from: text }, since: { from: '$.at', zone }, key: '$.id' });
        const rows: { readonly id: number; readonly ms: number }[] = [];
        const written: unknown[] = [];
        let now = START;
        let carried: Carried | undefined;
        for (const minutes of rounds) {
          for (const later of minutes) rows.push({ id: rows.length, ms: (now += later * MINUTE) });
          const answer = ({ query }: { readonly query: URLSearchParams }) => {
            const sent = query.get('from');
            const from = sent === null ? -Infinity : read(sent, clocks);
            const at = (ms: number): string => new Date(clocks.localAt(ms)).toISOString().slice(0, 19).replace('T', ' ');
            return { body: rows.filter(({ ms }) => ms >= from).map(({ id, ms }) => ({ id, at: at(ms) })) };
          };
          const listing = listed(stream, { answer, carried, now: now + 5 * MINUTE });
          written.push(...listing.written.map((row) => (row as { id: number }).id));
          carried = listing.carried;
        }
        expect(written).toEqual(rows.map(({ id }) => id));
      },
    ),
    { numRuns: 300 },
  );
});

/** Six hours before clocks are set back. */
const SET_BACK = { 'America/New_York': Date.UTC(2026, 10, 1), 'Europe/Athens': Date.UTC(2026, 9, 24, 19) };

it('a service that selects by local times loses and repeats no record when an hour comes twice, if lists overlap', () => {
  fc.assert(
    fc.property(
      fc.constantFrom(...(['America/New_York', 'Europe/Athens'] as const)),
      fc.constantFrom('{since}', '{since:date}', '{since:%Y-%m-%dT%H:%M:%S}'),
      fc.constantFrom('ascending', 'fixed'),
      fc.array(fc.array(fc.integer({ min: 1, max: 150 }), { minLength: 1, maxLength: 4 }), { minLength: 5, maxLength: 9 }),
      (zone, from, order, rounds) => {
        const clocks = zoneOf(zone);
        const stream = itemsStream({ get: '/', query: { from }, since: { from: '$.at', zone, order, overlap: '61m' }, key: '$.id' });
        const rows: { readonly id: number; readonly at: string }[] = [];
        const written: unknown[] = [];
        let now = SET_BACK[zone];
        let carried: Carried | undefined;
        for (const minutes of rounds) {
          for (const later of minutes) {
            now += later * MINUTE;
            rows.push({ id: rows.length, at: new Date(clocks.localAt(now)).toISOString().slice(0, 19) });
          }
          const answer = ({ query }: { readonly query: URLSearchParams }) => {
            const since = query.get('from') ?? '';
            return {
              body: rows
                .filter(({ at }) => (since.length < 11 ? at >= since : at > since))
                .toSorted((one, other) => (one.at < other.at ? -1 : 1)),
            };
          };
          const listing = listed(stream, { answer, carried, now: now + 5 * MINUTE });
          written.push(...listing.written.map((row) => (row as { id: number }).id));
          carried = listing.carried;
        }
        expect(written.toSorted((one, other) => Number(one) - Number(other))).toEqual(rows.map(({ id }) => id));
      },
    ),
    {
      numRuns: 400,
      // The day on which clocks are set back is 25 hours long.
      examples: [
        ['America/New_York', '{since}', 'ascending', [[140], [44, 57], [104, 71, 4], [1], [1]]],
        [
          'Europe/Athens',
          '{since:date}',
          'fixed',
          [[120], [98, 23, 83], [135, 70, 125, 139], [65, 141, 112, 9], [101, 16, 74, 65], [101, 145], [1]],
        ],
      ],
    },
  );
});
