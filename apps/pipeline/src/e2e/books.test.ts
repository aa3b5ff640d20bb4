import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';

const AUTHORS = ['Charlotte Vale Allen', 'Ada / Bert? & Zoé'];

describe('headgate run, books', () => {
  it('looks up 250 ISBNs and two authors with five requests, never two in one second', async () => {
    const isbns = Array.from({ length: 250 }, (_, i) => sampleIsbn(i));
    const unknown = isbns.filter((_, i) => i % 40 === 3);
    await using service = await startBooks({ unknown, keys: [{ name: 'mine', key: 'key-5Pq3-never-shown', plan: 'default' }] });
    await using place = await workplace(booksYaml(service.url, [...isbns.slice(0, 100), '978-0-00-000000-1', ...isbns.slice(100)]));

    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    expect(service.requests.map(({ method, status }) => `${method} ${status}`).sort()).toEqual([
      'GET 200',
      'GET 200',
      'POST 200',
      'POST 200',
      'POST 200',
    ]);
    const times = service.requests.map(({ at }) => at);
    for (const [i, at] of times.entries()) expect(at - (times[i - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1_000);
    expect(service.requests.flatMap(({ author }) => author ?? []).sort()).toEqual([...AUTHORS].sort());

    const records = await place.records('books.records');
    expect(records.map(({ key }) => key).sort()).toEqual(isbns.filter((isbn) => !unknown.includes(isbn)).sort());
    for (const { key, value } of records) expect(value).toMatchObject({ isbn: key, record: { isbn13: key } });
    expect((await place.records('books.missing')).map(({ value }) => value)).toEqual(unknown.map((isbn) => ({ isbn })));
    expect((await place.records('books.authors')).map(({ key, value }) => [key, value['author']]).sort()).toEqual(
      [...AUTHORS].sort().map((name) => [name, name]),
    );
    const letters = await place.records('books.dead-letters');
    expect(letters.map(({ key, value }) => [key, value['request'], value['error']])).toMatchObject([
      ['978-0-00-000000-1', { isbn: '978-0-00-000000-1' }, { retryable: false }],
    ]);

    expect((await place.headgate('run')).code).toBe(0);
    expect(service.requests).toHaveLength(5);
  });

  it('names the cure when the key belongs to another plan', async () => {
    await using service = await startBooks({ keys: [{ name: 'mine', key: 'key-5Pq3-never-shown', plan: 'pro' }] });
    await using place = await workplace(booksYaml(service.url, [sampleIsbn(1)]));
    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/set books\.plan to the plan the key was bought for/);
    // The wish is still there for the day the key is right.
    expect(await place.records('books.dead-letters')).toEqual([]);
  });
});

function booksYaml(url: string, isbns: readonly string[]): string {
  return `topics: { driver: sqlite, file: ./headgate.db }
status: false
books:
  baseUrl: ${url}
  key: "\${KEY}"
  isbns: ${JSON.stringify(isbns)}
  authors: ${JSON.stringify(AUTHORS)}
`;
}
