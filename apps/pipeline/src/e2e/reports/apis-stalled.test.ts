import { mkdtemp, rm } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RestSection } from '@headgate/rest';
import { describe, expect, it, onTestFinished } from 'vitest';
import { httpService } from '../http-service.fixture.ts';
import { inProcess } from '../in-process.fixture.ts';
import { type Answer, itemsSection, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

const PAGES: Readonly<Record<string, object>> = {
  '': { items: [{ id: 1 }, { id: 2 }], next: 'c2' },
  c2: { items: [{ id: 3 }, { id: 4 }], next: 'c3' },
  c3: { items: [{ id: 5 }, { id: 6 }], next: 'c4' },
  c4: { items: [{ id: 7 }, { id: 8 }], next: null },
};

const ITEMS = {
  get: '/items',
  records: '$.items[*]',
  key: '$.id',
  pages: { cursor: '$.next', as: { query: 'cursor' } },
} as const;

/** A service with a listing of four pages, and a function that runs it. `third` handles requests of the third page. */
async function listing(third: (response: ServerResponse) => Answer | undefined, settings: Partial<Parameters<RestSection>[0]>) {
  const clock = steppedClock();
  const service = await loggingService({
    clock,
    answer({ query }, _, response) {
      const cursor = query.get('cursor') ?? '';
      return cursor === 'c3' ? third(response) : { body: PAGES[cursor] };
    },
  });
  const folder = await mkdtemp(join(tmpdir(), 'headgate-stalled-'));
  onTestFinished(async () => {
    await service[Symbol.asyncDispose]();
    await rm(folder, { recursive: true });
  });
  const pipelines = [itemsSection(service.url, { streams: { items: ITEMS }, ...settings })];
  const run = async ({ replay = false } = {}) => {
    const ended = await steppedRun({ clock, services: [service], pipelines, folder, replay });
    expect(ended.failures).toEqual([]);
    return { ids: ended.records('shop.items').map(({ key }) => Number(key)), deadLetters: ended.deadLetters('shop') };
  };
  return { run, asked: () => service.arrivals.map(({ query }) => query.get('cursor') ?? '') };
}

// https://github.com/airbytehq/airbyte-python-cdk/issues/1148
describe('a page that stalls', () => {
  it.each<readonly [string, (response: ServerResponse) => void]>([
    ['before its answer', () => undefined],
    [
      'after its headers',
      (response) => response.writeHead(200, { 'content-type': 'application/json', 'content-length': '500' }).write('{"items": [{"id":5},'),
    ],
    [
      'with a byte now and then',
      (response) => {
        const timer = setInterval(() => response.write(' '), 1);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s is requested again after the time limit of an attempt', async (_, stall) => {
    let stalls = 1;
    const { asked, run } = await listing(
      (response) => {
        if (stalls-- <= 0) return { body: PAGES['c3'] };
        stall(response);
        return undefined;
      },
      { timeout: '30s', retryFor: '5m' },
    );
    expect(await run()).toEqual({ ids: [1, 2, 3, 4, 5, 6, 7, 8], deadLetters: [] });
    expect(asked()).toEqual(['', 'c2', 'c3', 'c3', 'c4']);
  });

  it('for longer than retryFor fails the listing, and a replay continues at that page', async () => {
    let stalls = true;
    const { asked, run } = await listing(() => (stalls ? undefined : { body: PAGES['c3'] }), { timeout: '30s', retryFor: '2m' });
    expect(await run()).toEqual({
      ids: [1, 2, 3, 4],
      deadLetters: [expect.objectContaining({ message: expect.stringMatching(/time|no response/i) as unknown })],
    });
    stalls = false;
    const before = asked().length;
    expect((await run({ replay: true })).ids).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
    expect(asked().slice(before)).toEqual(['c3', 'c4']);
  });

  it('in its place, because its cursor comes again, fails the listing', async () => {
    const { asked, run } = await listing(() => ({ body: { ...PAGES['c3'], next: 'c3' } }), {});
    expect(await run()).toEqual({
      ids: [1, 2, 3, 4, 5, 6],
      deadLetters: [expect.objectContaining({ message: expect.stringMatching(/again|repeated/) as unknown })],
    });
    expect(asked().length).toBeLessThanOrEqual(6);
  });
});

// https://github.com/estuary/connectors/pull/3493
it('a field that is added while a process runs is in the next listing, and starts its own requests', async () => {
  let isNew = false;
  const asked = new Set<string>();
  const streams = `contacts: { get: /contacts, query: { since: "{since}" }, since: { from: $.updated_at, first: 2025-01-01T00:00:00Z }, key: $.id }
    describe: { get: /describe, key: $.name }
    values: { get: "/values/{name}", for: { each: describe, with: { name: $.name } } }`;
  const answer = (pathname: string): object => {
    if (pathname === '/describe') return ['Id', 'Name', ...(isNew ? ['my_custom_field__c'] : [])].map((name) => ({ name }));
    if (pathname !== '/contacts') return { name: pathname };
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'];
    if (!isNew) return [{ id: 1, name: 'A', updated_at: first }];
    return [
      { id: 1, name: 'A', my_custom_field__c: 'x', updated_at: second },
      { id: 2, name: 'B', my_custom_field__c: null, nested: { n: 1 }, updated_at: second },
    ];
  };
  await using service = await httpService((request, response) => {
    const { pathname } = new URL(request.url ?? '', 'http://localhost');
    asked.add(pathname);
    response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer(pathname)));
  });
  await using place = await inProcess();
  const yaml = `
topics: { driver: sqlite, file: headgate.db }
shop:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: anyone }]
  limit: { requests: 8, window: 1s }
  every: 1s
  streams:
    ${streams}
`;
  const run = place.start(yaml, { follow: true });
  await expect.poll(() => asked.has('/values/Name')).toBe(true);
  isNew = true;
  await expect.poll(() => asked.has('/values/my_custom_field__c')).toBe(true);
  await expect.poll(() => place.values('shop.contacts')).toHaveLength(3);
  run.stop();
  await run.ended;
  expect(await place.values('shop.contacts')).toMatchObject([
    { id: 1, name: 'A' },
    { id: 1, my_custom_field__c: 'x' },
    { id: 2, my_custom_field__c: null, nested: { n: 1 } },
  ]);
});
