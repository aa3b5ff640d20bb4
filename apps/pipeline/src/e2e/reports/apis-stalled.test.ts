import type { ServerResponse } from 'node:http';
import { openDeadLetters, replayDeadLetters } from '@headgate/pipeline';
import { describe, expect, it, onTestFinished } from 'vitest';
import { httpService } from '../http-service.fixture.ts';
import { inProcess } from '../in-process.fixture.ts';

const PAGES: Readonly<Record<string, object>> = {
  '': { items: [{ id: 1 }, { id: 2 }], next: 'c2' },
  c2: { items: [{ id: 3 }, { id: 4 }], next: 'c3' },
  c3: { items: [{ id: 5 }, { id: 6 }], next: 'c4' },
  c4: { items: [{ id: 7 }, { id: 8 }], next: null },
};

/** A section over a service on loopback, in real time. */
async function section(settings: string, streams: string, answer: (url: URL, response: ServerResponse) => object | undefined) {
  const service = await httpService((request, response) => {
    const body = answer(new URL(request.url ?? '', 'http://localhost'), response);
    if (body !== undefined) response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  const place = await inProcess();
  onTestFinished(async () => {
    await place[Symbol.asyncDispose]();
    await service[Symbol.asyncDispose]();
  });
  const yaml = `
topics: { driver: sqlite, file: headgate.db }
shop:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: anyone }]
  limit: { requests: 8, window: 1s }
  ${settings}
  streams:
    ${streams}
`;
  return { place, yaml };
}

/** A listing of four pages. `stall` answers a request of the third one instead, and returns false when it doesn't any more. */
async function stalledListing(stall: (response: ServerResponse) => boolean, settings: string) {
  const asked: string[] = [];
  const items = 'items: { get: /items, records: "$.items[*]", key: $.id, pages: { cursor: $.next, as: { query: cursor } } }';
  const { place, yaml } = await section(settings, items, ({ searchParams }, response) => {
    const cursor = searchParams.get('cursor') ?? '';
    asked.push(cursor);
    return cursor === 'c3' && stall(response) ? undefined : PAGES[cursor];
  });
  const ids = async (): Promise<unknown[]> => (await place.values('shop.items')).map(({ id }) => id);
  return { asked, place, yaml, ids };
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
        const timer = setInterval(() => response.write(' '), 50);
        response.on('close', () => clearInterval(timer));
      },
    ],
  ])('%s is requested again after the time limit of an attempt', async (_, stalling) => {
    let stalls = 1;
    const { asked, place, yaml, ids } = await stalledListing((response) => {
      if (stalls-- <= 0) return false;
      stalling(response);
      return true;
    }, 'timeout: 500ms\n  retryFor: 60s');
    expect(await place.start(yaml).ended).toEqual([]);
    expect(asked).toEqual(['', 'c2', 'c3', 'c3', 'c4']);
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('for longer than retryFor fails the listing, and a replay continues at that page', async () => {
    let stalls = true;
    const { asked, place, yaml, ids } = await stalledListing(() => stalls, 'timeout: 300ms\n  retryFor: 2s');
    await place.start(yaml).ended;
    expect(await ids()).toEqual([1, 2, 3, 4]);
    const letters = await Array.fromAsync(openDeadLetters({ log: place.log, pipeline: 'shop' }));
    expect(JSON.stringify(letters)).toMatch(/time|no response/i);
    stalls = false;
    const before = asked.length;
    const { pipelines } = await place.config(yaml);
    for (const { definition } of pipelines) await replayDeadLetters({ log: place.log, requests: definition.requests });
    expect(await place.start(yaml).ended).toEqual([]);
    expect(asked.slice(before)).toEqual(['c3', 'c4']);
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  it('in its place, because its cursor comes again, fails the listing', async () => {
    const { asked, place, yaml, ids } = await stalledListing((response) => {
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[{"id":5},{"id":6}],"next":"c3"}');
      return true;
    }, 'timeout: 2s');
    await place.start(yaml).ended;
    expect(asked.length).toBeLessThanOrEqual(6);
    expect(await ids()).toEqual([1, 2, 3, 4, 5, 6]);
    expect(JSON.stringify(await place.values('shop.dead-letters'))).toMatch(/again|repeated/);
  });
});

// https://github.com/estuary/connectors/pull/3493
it('a field that is added while a process runs is in the next listing, and starts its own requests', async () => {
  let isNew = false;
  const asked = new Set<string>();
  const streams = `contacts: { get: /contacts, query: { since: "{since}" }, since: { from: $.updated_at, first: 2025-01-01T00:00:00Z }, key: $.id }
    describe: { get: /describe, key: $.name }
    values: { get: "/values/{name}", for: { each: describe, with: { name: $.name } } }`;
  const { place, yaml } = await section('every: 1s', streams, ({ pathname }) => {
    asked.add(pathname);
    if (pathname === '/describe') return ['Id', 'Name', ...(isNew ? ['my_custom_field__c'] : [])].map((name) => ({ name }));
    if (pathname !== '/contacts') return { name: pathname };
    const [first, second] = ['2026-01-01T00:00:00Z', '2026-01-01T00:01:00Z'];
    if (!isNew) return [{ id: 1, name: 'A', updated_at: first }];
    return [
      { id: 1, name: 'A', my_custom_field__c: 'x', updated_at: second },
      { id: 2, name: 'B', my_custom_field__c: null, nested: { n: 1 }, updated_at: second },
    ];
  });
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
