import { expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';
import { httpService } from './http-service.fixture.ts';

it('try sends one request of a stream, shows the response, and writes no record', async () => {
  const asked: (string | undefined)[] = [];
  await using service = await httpService((request, response) => {
    asked.push(request.url);
    const headers = { 'content-type': 'application/json', 'x-left': '7', 'x-again': '30' };
    response.writeHead(200, headers).end('{"items":[{"id":1},{"id":1}],"next":"/items?page=2"}');
  });
  await using place = await workplace(`
topics: { driver: sqlite, file: headgate.db }
shop:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: anyone }]
  limit: { requests: 50, window: 1s, left: { header: x-left }, reset: { header: x-again } }
  streams:
    items: { get: /items, records: "$.items[*]", key: $.id, pages: { next: $.next } }
    parts: { get: "/parts/{item}", for: { each: items, with: { item: $.id } }, records: "$.items[*]", key: $.id }
`);
  const { code, stdout } = await place.headgate('try', 'shop.items');
  expect([code, asked]).toEqual([0, ['/items']]);
  expect(stdout.split('\n')).toEqual(
    expect.arrayContaining([
      'GET /items: 200',
      '2 records at $.items[*], beginning with',
      '  1  {"id":1}',
      'next page: GET /items?page=2',
      expect.stringMatching(/7 left/),
      expect.stringMatching(/^warning: key: \$\.id is not unique/),
    ]),
  );
  expect((await place.headgate('try', 'shop.parts', '--for', 'item=a b')).stdout).toContain('GET /parts/a%20b: 200');
  const without = await place.headgate('try', 'shop.parts');
  expect(without.code).toBe(2);
  expect(without.stderr).toMatch(/item is missing.* as in --for NAME=VALUE\./);
  expect(asked).toHaveLength(2);
  expect(await place.records('shop.items')).toEqual([]);
});

it('try and check --online exit with 130 after a signal, without an error', async () => {
  let asked = 0;
  await using service = await httpService(() => (asked += 1));
  await using place = await workplace(`
topics: { driver: sqlite, file: headgate.db }
shop:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: anyone }]
  limit: { requests: 50, window: 1s }
  streams: { items: { get: /items, records: "$.items[*]", key: $.id } }
`);
  for (const [i, args] of [
    ['try', 'shop.items'],
    ['check', '--online'],
  ].entries()) {
    const command = place.begin(...args);
    await expect.poll(() => asked).toBe(i + 1);
    command.interrupt();
    const { code, stdout, stderr } = await command.ended;
    expect([code, stdout + stderr]).toEqual([130, expect.not.stringContaining('SIGINT')]);
  }
});

it('try without a usable response says so, and nothing about a run', async () => {
  let status = 401;
  await using service = await httpService((_, response) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"results":[]}');
  });
  await using place = await workplace(`
topics: { driver: sqlite, file: headgate.db }
shop:
  use: rest
  baseUrl: ${service.url}
  credentials: [{ name: app, bearer: "\${TOKEN}" }]
  limit: { requests: 50, window: 1s }
  streams:
    items: { get: /items, records: "$.items[*]", key: $.id }
    parts: { get: /parts, key: $.id }
`);
  const refused = await place.headgate('try', 'shop.items');
  const ends = 'shop refuses the credential (401). Check its secret. Nothing was written. Then try again.\n';
  expect([refused.code, refused.stderr]).toEqual([1, `headgate: shop credential app: ${ends}`]);
  status = 200;
  const other = await place.headgate('try', 'shop.items');
  expect(other.stderr).toContain('got nothing (the response has results: a list). Check baseUrl. If it is right, compare the response');
  expect(other.stderr).not.toMatch(/start the run|No data is lost|another day/u);
  const enqueued = await place.headgate('enqueue', 'shop', '{"stream":"item"}');
  expect(enqueued.stderr).toContain("The job is malformed: stream isn't known. Write items or parts.");
});
