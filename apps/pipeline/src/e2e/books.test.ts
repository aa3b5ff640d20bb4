import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { addJobs } from './embedded-log.fixture.ts';
import { workplace } from './headgate-process.fixture.ts';

const AUTHORS = ['Charlotte Vale Allen', 'Ada / Bert? & Zoé'];

describe('headgate run, books', () => {
  it('looks up 250 ISBNs and two authors with seven requests, at most one per second', async () => {
    const isbns = Array.from({ length: 250 }, (_, i) => sampleIsbn(i));
    const unknown = isbns.filter((_, i) => i % 40 === 3);
    await using service = await startBooks({ unknown, keys: [{ name: 'mine', key: 'key-5Pq3-never-shown', plan: 'default' }] });
    await using place = await workplace(booksYaml(service.url, [...isbns.slice(0, 100), '978-0-00-000000-1', ...isbns.slice(100)]));

    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    expect(service.requests.map(({ method, status }) => `${method} ${status}`).sort()).toEqual([
      // Each author's list ends with an empty page.
      'GET 200',
      'GET 200',
      'GET 200',
      'GET 200',
      'POST 200',
      'POST 200',
      'POST 200',
    ]);
    const times = service.requests.map(({ at }) => at);
    for (const [i, at] of times.entries()) expect(at - (times[i - 1] ?? -Infinity)).toBeGreaterThanOrEqual(1_000);
    expect(service.requests.flatMap(({ author }) => author ?? []).sort()).toEqual([...AUTHORS, ...AUTHORS].sort());

    const records = await place.records('books.records');
    expect(records.map(({ key }) => key).sort()).toEqual(isbns.filter((isbn) => !unknown.includes(isbn)).sort());
    for (const { key, value } of records) expect(value).toMatchObject({ isbn: key, record: { isbn13: key } });
    // Batches can be answered in any order.
    expect((await place.records('books.missing')).map(({ value }) => value['isbn']).sort()).toEqual(unknown.toSorted());
    expect((await place.records('books.authors')).map(({ key, value }) => [key, value['author']]).sort()).toEqual(
      [...AUTHORS, ...AUTHORS].sort().map((name) => [name, name]),
    );
    const deadLetters = await place.records('books.dead-letters');
    expect(deadLetters.map(({ key, value }) => [key, value['request'], value['error']])).toMatchObject([
      ['978-0-00-000000-1', { isbn: '978-0-00-000000-1' }, { retryable: false }],
    ]);

    expect((await place.headgate('run')).code).toBe(0);
    expect(service.requests).toHaveLength(7);
  });

  it('looks up and writes the duplicates of a job once', async () => {
    const [a, b, unknown] = [sampleIsbn(1), sampleIsbn(2), sampleIsbn(3)];
    await using service = await startBooks({ unknown: [unknown] });
    await using place = await workplace(booksYaml(service.url, [], { maxBatch: 1, authors: [] }));
    const spelled = `${a.slice(0, 3)}-${a.slice(3)}`;
    await addJobs(
      place,
      'books',
      [{ isbns: [a, 'x', a, b, spelled, unknown, 'x', unknown, b] }, { isbn: a }].map((job) => JSON.stringify(job)),
    );
    expect(JSON.parse((await place.headgate('plan', '--json')).stdout)).toMatchObject({ pipelines: [{ keys: 1, is_exact: false }] });

    expect((await place.headgate('run')).code).toBe(1);
    expect(service.requests).toHaveLength(4);
    expect((await place.records('books.records')).map(({ headers }) => headers['ce_id']).toSorted()).toEqual([
      `books.requests-0-1/${a}`,
      `books.requests-0-2/${a}`,
      `books.requests-0-4/${b}`,
    ]);
    expect((await place.records('books.missing')).map(({ key }) => key)).toEqual([unknown]);
    expect((await place.records('books.dead-letters')).map(({ key }) => key)).toEqual(['x']);
    expect((await place.headgate('run')).stderr).toContain('Nothing to do');
  });

  it('does not replay an invalid ISBN', async () => {
    await using service = await startBooks();
    await using place = await workplace(booksYaml(service.url, ['978-0-00-000000-1'], { authors: [] }));
    await addJobs(place, 'books', ['{"isbn":5}'], '');
    expect((await place.headgate('run')).code).toBe(1);
    expect((await place.records('books.dead-letters')).map(({ key }) => key)).toContain('books.requests-0-0');
    const replay = await place.headgate('replay', 'books.dead-letters');
    expect([replay.code, replay.stderr]).toEqual([0, expect.stringContaining('0 re-enqueued into books.requests, 2 skipped')]);
    expect(replay.stderr).toMatch(/skipped books\.dead-letters 0:\d: 978-0-00-000000-1: .* isn't an ISBN/);
    expect((await place.headgate('run')).code).toBe(0);
  });

  it('names the fix if the key belongs to another plan', async () => {
    await using service = await startBooks({ keys: [{ name: 'mine', key: 'key-5Pq3-never-shown', plan: 'pro' }] });
    await using place = await workplace(booksYaml(service.url, [sampleIsbn(1)]));
    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/books: the key was refused .* set the plan option of books to the plan of the key/);
    // The job stays in its topic until the key is right.
    expect(await place.records('books.dead-letters')).toEqual([]);
  });
});

function booksYaml(
  url: string,
  isbns: readonly string[],
  { maxBatch = 100, authors = AUTHORS }: { maxBatch?: number; authors?: readonly string[] } = {},
): string {
  return `topics: { driver: sqlite, file: ./headgate.db }
status: false
books:
  baseUrl: ${url}
  key: "\${KEY}"
  maxBatch: ${maxBatch}
  isbns: ${JSON.stringify(isbns)}
  authors: ${JSON.stringify(authors)}
`;
}
