import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { afterEach, expect, test } from 'vitest';

import { startBooks } from '../books/books-server.ts';
import { startFollowers } from '../followers/followers-server.ts';
import type { FollowersSandbox } from '../followers/followers-server.ts';
import { checkRecording, loadRecording, RecordingError } from './recording.ts';
import type { RecordedEntry } from './recording.ts';

let running: FollowersSandbox | undefined;
let folder: string | undefined;

afterEach(async () => {
  await running?.close();
  if (folder !== undefined) await rm(folder, { recursive: true });
  running = undefined;
  folder = undefined;
});

function entry(url: string | null, body: string, more: { status?: number; method?: string; sent?: string } = {}): RecordedEntry {
  return {
    source: 'made by hand',
    request: { method: more.method ?? 'GET', url, ...(more.sent === undefined ? {} : { body: more.sent }) },
    response: { status: more.status ?? 200, headers: { 'content-type': 'application/json', 'x-rate-limit-remaining': '3' }, body },
    note: '',
  };
}

const path = '/1.1/followers/ids.json';
// The body has spaces, and bare numbers above 2^53, which parsing and serializing would change.
const first = '{ "ids":[9007199254740993,"7"], "next_cursor":8882581338626179201, "previous_cursor":0}';
const second = '{"ids":["6"],"next_cursor_str":"4611686018427387905","next_cursor":4611686018427387905}';
const walk = [
  entry(`https://example.com${path}?screen_name=Alpha&cursor=-1&count=5000`, first),
  entry(`https://example.com${path}?screen_name=Alpha&cursor=8882581338626179201`, second),
];

async function replay(...recording: RecordedEntry[]): Promise<(query: string) => Promise<[number, string, string | null]>> {
  running = await startFollowers({ replay: recording });
  const { url } = running;
  return async (query) => {
    const response = await fetch(`${url}${path}${query}`, { headers: { authorization: 'Bearer secret' } });
    return [response.status, await response.text(), response.headers.get('x-sandbox-replay')];
  };
}

test('pages are found by their cursor and sent byte for byte, in a window of the sandbox’s own', async () => {
  const get = await replay(...walk);
  expect(await get('?screen_name=alpha')).toEqual([200, first, null]);
  expect(await get('?screen_name=ALPHA&cursor=8882581338626179201&stringify_ids=true')).toEqual([200, second, null]);
  const { headers } = await fetch(`${running?.url ?? ''}${path}?user_id=1`, { headers: { authorization: 'Bearer secret' } });
  expect([headers.get('content-type'), headers.get('x-rate-limit-remaining')]).toEqual(['application/json', '12']);
});

test('the next cursor of a recorded page that was not recorded is the end; any other is not found', async () => {
  const get = await replay(...walk);
  expect(await get('?screen_name=alpha&cursor=4611686018427387905')).toEqual([
    200,
    '{"ids":[],"next_cursor":0,"next_cursor_str":"0","previous_cursor":0,"previous_cursor_str":"0"}',
    'end-of-recording',
  ]);
  expect((await get('?screen_name=alpha&cursor=4611686018427387906'))[0]).toBe(404);
});

test('among several pages of a cursor the user’s comes first, then one without a user, then any', async () => {
  const page = (name: string): string => `{"ids":["${name}"],"next_cursor":0}`;
  const get = await replay(
    entry(`/1.1/friends/ids.json?screen_name=beta`, page('another path')),
    entry(`${path}?screen_name=carol`, '{"errors":[]}', { status: 404 }),
    entry(`${path}?screen_name=beta`, page('beta')),
    entry(`${path}?user_id=12`, page('twelve')),
    entry(`~r/https://example.com${path}\\?.+/`, page('no address')),
    entry(null, page('null')),
    entry(path, '{"errors":[]}', { status: 429 }),
    entry(path, page('anybody')),
    entry(path, page('later')),
    entry(path, page('posted'), { method: 'POST' }),
  );
  expect((await get('?screen_name=Beta'))[1]).toBe(page('beta'));
  expect((await get('?user_id=12'))[1]).toBe(page('twelve'));
  expect((await get('?screen_name=carol'))[0]).toBe(404);
  expect((await get('?screen_name=dora&cursor=-1'))[1]).toBe(page('anybody'));
});

test('a user of another recording gets the first page of whoever there is', async () => {
  const get = await replay(...walk);
  expect((await get('?screen_name=dora'))[1]).toBe(first);
});

test('users that are configured are served beside the recording', async () => {
  running = await startFollowers({ replay: walk, users: { beta: { followers: ['5'] } } });
  const response = await fetch(`${running.url}${path}?screen_name=beta`, { headers: { authorization: 'Bearer secret' } });
  expect(await response.text()).toContain('"ids":[5]');
});

test('a recording without an entry of the service leaves it as it is', async () => {
  const get = await replay(entry('/book/9780792712305', '{}'));
  expect((await get('?screen_name=alpha&stringify_ids=true'))[0]).toBe(200);
});

test('faults are applied to recorded pages too', async () => {
  running = await startFollowers({
    replay: walk,
    faults: [
      { name: 'cursor-loop', at: 2 },
      { name: 'truncated', at: 3 },
    ],
  });
  const get = async (cursor: string): Promise<string> => {
    const response = await fetch(`${running?.url ?? ''}${path}?screen_name=alpha&cursor=${cursor}`, {
      headers: { authorization: 'Bearer s' },
    });
    return response.text();
  };
  await get('-1');
  expect(await get('8882581338626179201')).toBe(second.replaceAll('4611686018427387905', '8882581338626179201'));
  expect(await get('-1')).toBe(first.slice(0, first.length / 2));
});

test('books are found by their path, batches by their body, and templates come last', async () => {
  await using books = await startBooks({
    window: { limit: 100 },
    replay: [
      entry(null, '{"message":"never"}', { status: 429 }),
      entry('/book/{isbn}', '{"errorMessage":"Not Found"}', { status: 404 }),
      entry('https://example.com/book/9780792712305', '{"book":{ "isbn":"1"}}'),
      entry('/author/Charlotte%20Vale%20Allen', '{"author":"Charlotte%20Vale%20Allen"}'),
      entry('/books', '{"total":1}', { method: 'POST', sent: 'isbns=1' }),
      entry('/books', '{"total":2}', { method: 'POST', sent: 'isbns=1,2' }),
    ],
  });
  const ask = async (target: string, body?: string): Promise<string> => {
    const init = body === undefined ? {} : { method: 'POST', body };
    const response = await fetch(books.url + target, { headers: { authorization: 'k' }, ...init });
    return `${response.status} ${await response.text()}`;
  };
  expect(await ask('/book/9780792712305?x=1')).toBe('200 {"book":{ "isbn":"1"}}');
  expect(await ask('/book/9780000000002')).toBe('404 {"errorMessage":"Not Found"}');
  expect(await ask('/author/%43harlotte%20Vale%20Allen')).toBe('200 {"author":"Charlotte%20Vale%20Allen"}');
  expect(await ask('/author/Someone')).toBe('404 {"errorMessage":"Not Found"}');
  expect(await ask('/books', 'isbns=1,2')).toBe('200 {"total":2}');
  expect(await ask('/books', 'isbns=3')).toBe('200 {"total":1}');
});

test('a recording is read from its file', async () => {
  folder = await mkdtemp(join(tmpdir(), 'sandbox-'));
  const file = join(folder, 'walk.json');
  await writeFile(file, JSON.stringify(walk));
  expect(await loadRecording(file)).toEqual(walk);
  await writeFile(file, '[{]');
  await expect(loadRecording(file)).rejects.toThrow(/walk\.json: the recording isn't JSON/u);
  await expect(loadRecording(join(folder, 'none.json'))).rejects.toThrow(/none\.json: the recording can't be read \(ENOENT/u);
});

test.each([
  [{}, 'a recording is an array of {request, response}; this is an object'],
  [[1], 'entry 0 must be an object; it is the number 1'],
  [[{}], 'entry 0: request must be an object; it is absent'],
  [[walk[0], { request: walk[0]?.request }], 'entry 1: response must be an object; it is absent'],
  [[{ ...walk[0], request: { url: '/' } }], 'entry 0: request.method must be a string such as "GET"; it is absent'],
  [[{ ...walk[0], request: { method: 'GET' } }], 'entry 0: request.url must be a string or null; it is absent'],
  [[{ ...walk[0], request: { method: 'GET', url: '/', body: 1 } }], 'entry 0: request.body must be a string or absent; it is the number 1'],
  [[{ ...walk[0], response: { status: 99, headers: {}, body: '' } }], 'entry 0: response.status must be a whole number from 200 to 599'],
  [
    [{ ...walk[0], response: { status: 200, headers: {}, body: {} } }],
    'entry 0: response.body must be the text of the body as a string; it is an object',
  ],
  [
    [{ ...walk[0], response: { status: 200, headers: { a: [] }, body: '' } }],
    'entry 0: response.headers.a must be a string; it is an array',
  ],
])('a recording of the wrong form says what and where', (value, message) => {
  expect(() => checkRecording(value, 'walk.json')).toThrow(RecordingError);
  expect(() => checkRecording(value, 'walk.json')).toThrow(`walk.json: ${message}`);
});
