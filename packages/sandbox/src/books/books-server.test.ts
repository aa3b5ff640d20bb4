import { afterEach, expect, test } from 'vitest';

import { startBooks } from './books-server.ts';
import type { BooksSandbox, BooksSandboxOptions } from './books-server.ts';
import { sampleIsbn } from './isbn.ts';

let running: BooksSandbox | undefined;

afterEach(async () => {
  await running?.close();
  running = undefined;
});

async function start(options: BooksSandboxOptions = {}): Promise<BooksSandbox> {
  running = await startBooks(options);
  return running;
}

const roomy = { limit: 1000 };

async function ask(target: string, init: RequestInit = {}): Promise<{ status: number; text: string; body: Record<string, unknown> }> {
  const url = target.startsWith('/') ? `${running?.url ?? ''}${target}` : target;
  const response = await fetch(url, { headers: { authorization: 'secret-key' }, ...init });
  const text = await response.text();
  const body: Record<string, unknown> = JSON.parse(text);
  return { status: response.status, text, body };
}

async function batch(body: string): Promise<{ status: number; body: Record<string, unknown> }> {
  return ask('/books', { method: 'POST', body, headers: { authorization: 'secret-key', 'content-type': 'application/json' } });
}

function isbnsOf(body: Record<string, unknown>): string[] {
  return Array.isArray(body['data']) ? body['data'].map((record: { isbn13: string }) => record.isbn13) : [];
}

test('a book is found by its ISBN-13 or its ISBN-10, with the same record each time and for the same seed', async () => {
  await start({ window: roomy });
  const long = await ask('/book/9780792712305');
  const short = await ask('/book/0-7927-1230-7');
  expect(long.status).toBe(200);
  expect(long.body).toMatchObject({ book: { isbn13: '9780792712305', isbn: '0792712307' } });
  expect(short.body).toEqual(long.body);
  await running?.close();
  await start({ seed: 1 });
  expect((await ask('/book/9780792712305')).body).toEqual(long.body);
  await running?.close();
  await start({ seed: 2 });
  expect((await ask('/book/9780792712305')).body).not.toEqual(long.body);
});

test.each(['/book/9780792712304', '/book/abc', `/book/${sampleIsbn(1)}`, '/author/Nobody%20At%20All'])('%s is not found', async (path) => {
  await start({ unknown: [sampleIsbn(1), 'Nobody At All'] });
  expect(await ask(path)).toMatchObject({ status: 404, text: '{"errorMessage":"Not Found"}' });
});

test('a batch answers for what it knows, leaves the rest out without a word, and keeps no order', async () => {
  const sandbox = await start({ window: roomy, unknown: (isbn) => isbn === sampleIsbn(3) });
  const isbns = Array.from({ length: 30 }, (_, index) => sampleIsbn(index));
  const { status, body } = await batch(`isbns=${isbns.join(',')},123`);
  const known = isbns.filter((isbn) => isbn !== sampleIsbn(3));
  expect([status, body['total'], body['requested']]).toEqual([200, 29, 31]);
  expect(isbnsOf(body).toSorted()).toEqual(known.toSorted());
  expect(isbnsOf(body)).not.toEqual(known);
  expect(sandbox.requests[0]).toMatchObject({ method: 'POST', path: '/books', isbns: [...isbns, '123'], credential: 'key 1' });
});

test('a batch is read as form text, encoded form or JSON, whatever its content type', async () => {
  await start({ window: roomy });
  const [one, two] = [sampleIsbn(1), sampleIsbn(2)];
  for (const text of [`isbns=${one},${two}`, `isbns=${one}%2C${two}\n`, JSON.stringify({ isbns: [one, two] })]) {
    expect(isbnsOf((await batch(text)).body).toSorted()).toEqual([one, two].toSorted());
  }
  for (const text of ['', 'isbns=', 'isbns=%zz', '{"isbns":1}', '{"isbns"', 'other=1']) expect((await batch(text)).status).toBe(400);
});

test('a batch of more than it takes is refused', async () => {
  await start({ window: roomy, maxBatch: 2 });
  expect((await batch(`isbns=${sampleIsbn(1)},${sampleIsbn(2)}`)).status).toBe(200);
  expect((await batch(`isbns=${sampleIsbn(1)},${sampleIsbn(2)},${sampleIsbn(3)}`)).status).toBe(400);
});

test('an author is named by a decoded path, echoed encoded, and paged', async () => {
  const sandbox = await start({ window: roomy });
  const name = 'A/B? & é';
  const { status, body } = await ask(`/author/${encodeURIComponent(name)}?pageSize=2`);
  expect([status, body['author']]).toEqual([200, 'A%2FB%3F%20%26%20%C3%A9']);
  expect(body['books']).toMatchObject([{ authors: [name] }, { authors: [name] }]);
  expect((await ask(`/author/${encodeURIComponent(name)}?pageSize=2&page=2`)).body['books']).not.toEqual(body['books']);
  expect(sandbox.requests[0]).toMatchObject({ author: name, path: `/author/${encodeURIComponent(name)}` });
  expect((await ask('/author/%zz')).status).toBe(400);
  expect((await ask('/author/A?page=0')).status).toBe(400);
});

test('a key works at its own plan’s address only, and in the header only', async () => {
  const { urls } = await start({
    window: roomy,
    keys: [
      { name: 'small', key: 'secret-key' },
      { name: 'big', key: 'secret-pro', plan: 'pro' },
    ],
  });
  const statuses = async (key: string): Promise<number[]> => {
    const asked = [urls.default, urls.premium, urls.pro].map((url) => ask(`${url}/author/A`, { headers: { authorization: key } }));
    return (await Promise.all(asked)).map(({ status }) => status);
  };
  expect(await statuses('secret-key')).toEqual([200, 403, 403]);
  expect(await statuses('secret-pro')).toEqual([403, 403, 200]);
  expect(await statuses('secret-other')).toEqual([401, 401, 401]);
  expect(await ask('/author/A?Authorization=secret-key', { headers: {} })).toMatchObject({
    status: 401,
    text: '{"message":"Full authentication is required to access this resource"}',
  });
  expect(JSON.stringify(running?.requests)).not.toContain('secret-');
});

test('1, 3 and 5 requests a second are let through, counted across the operations of a key', async () => {
  let nowMs = 5000;
  const { urls } = await start({ now: () => nowMs, limitAnswer: '429' });
  const asked = async (base: string): Promise<number> => {
    const paths = ['/author/A', `/book/${sampleIsbn(1)}`, '/author/B', '/author/C', '/author/D', '/author/E'];
    const statuses = await Promise.all(paths.map(async (path) => (await ask(base + path)).status));
    expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
    return statuses.filter((status) => status === 200).length;
  };
  expect([await asked(urls.default), await asked(urls.premium), await asked(urls.pro)]).toEqual([1, 3, 5]);
  nowMs += 999;
  expect(await asked(urls.default)).toBe(0);
  nowMs += 1;
  expect(await asked(urls.default)).toBe(1);
});

test.each([
  ['404', ['404 {"errorMessage":"Not Found"}', '404 {"errorMessage":"Not Found"}']],
  ['429', ['429 {"message":"Limit Exceeded"}', '429 {"message":"Limit Exceeded"}']],
  ['both', ['429 {"message":"Limit Exceeded"}', '404 {"errorMessage":"Not Found"}']],
] as const)('over the limit with limitAnswer %s', async (limitAnswer, answers) => {
  await start({ limitAnswer, now: () => 0 });
  await ask('/author/A');
  const got: string[] = [];
  for (let tries = 0; tries < 2; tries++) {
    const { status, text } = await ask('/author/A');
    got.push(`${status} ${text}`);
  }
  expect(got).toEqual(answers);
});

test('a 404 over a limit says what the test configured, by default the same as for something unknown', async () => {
  const textOf = async (path: string): Promise<string> =>
    await (await fetch(`${running?.url ?? ''}${path}`, { headers: { authorization: 'secret-key' } })).text();
  await start({ limitAnswer: '404', limit404Body: '', unknown: ['A'], now: () => 0 });
  expect([await textOf('/author/A'), await textOf('/author/A')]).toEqual(['{"errorMessage":"Not Found"}', '']);
  await running?.close();
  await start({ limitAnswer: '404', unknown404Body: 'nothing', unknown: ['A'], now: () => 0 });
  expect([await textOf('/author/A'), await textOf('/author/A')]).toEqual(['nothing', 'nothing']);
});

test('a batch of unknown ISBNs gets no records, or a 404 if the test says so', async () => {
  await start({ window: roomy, unknown: [sampleIsbn(1)] });
  expect(await batch(`isbns=${sampleIsbn(1)}`)).toMatchObject({ status: 200, body: { total: 0 } });
  await running?.close();
  await start({ window: roomy, unknown: [sampleIsbn(1)], unknownBatch: 404 });
  expect((await batch(`isbns=${sampleIsbn(1)}`)).status).toBe(404);
  expect((await batch(`isbns=${sampleIsbn(1)},${sampleIsbn(2)}`)).status).toBe(200);
});

test('a daily quota counts ISBNs and resets at its hour', async () => {
  let nowMs = Date.parse('2030-01-01T05:00:00Z');
  await start({ window: roomy, limitAnswer: '429', now: () => nowMs, dailyQuota: { isbns: 3, resetsAt: '06:30' } });
  const isbns = (count: number): string => `isbns=${Array.from({ length: count }, (_, index) => sampleIsbn(index)).join(',')}`;
  expect((await batch(isbns(2))).status).toBe(200);
  expect(await batch(isbns(2))).toMatchObject({ status: 429, body: { message: 'Daily quota exceeded, please try again later' } });
  expect((await ask(`/book/${sampleIsbn(1)}`)).status).toBe(200);
  expect((await ask('/author/A')).status).toBe(429);
  nowMs = Date.parse('2030-01-01T06:29:59Z');
  expect((await ask('/author/A')).status).toBe(429);
  nowMs = Date.parse('2030-01-01T06:30:00Z');
  expect((await batch(isbns(3))).status).toBe(200);
});

test('an unknown path is a 404, and options that cannot be are refused by name', async () => {
  await start();
  expect((await ask('/books')).status).toBe(404);
  await expect(startBooks({ maxBatch: 0 })).rejects.toThrow('maxBatch is 0');
  await expect(startBooks({ dailyQuota: { isbns: 1, resetsAt: '24:00' } })).rejects.toThrow('dailyQuota.resetsAt is "24:00"');
  await expect(startBooks({ dailyQuota: { isbns: 0.5 } })).rejects.toThrow('dailyQuota.isbns is 0.5');
  await expect(startBooks({ window: { windowMs: 0 } })).rejects.toThrow('window.windowMs is 0');
  const twice = [
    { name: 'a', key: '1' },
    { name: 'a', key: '2' },
  ];
  await expect(startBooks({ keys: twice })).rejects.toThrow('Two keys are named "a"');
});

test('a test for unknown names that throws is reported to the client instead of hanging it', async () => {
  const sandbox = await start({
    unknown: () => {
      throw new Error('no list');
    },
  });
  const response = await fetch(`${sandbox.url}/author/A`, { headers: { authorization: 'k' } });
  expect([response.status, await response.text()]).toEqual([500, 'The sandbox failed: no list\n']);
});

test('a body beyond 10 MiB is refused', async () => {
  await start();
  expect((await batch(`isbns=${'1'.repeat(11_000_000)}`)).status).toBe(413);
});
