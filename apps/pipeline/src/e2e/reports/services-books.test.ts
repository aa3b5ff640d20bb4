import { books as booksSource } from '@headgate/sources/books';
import { describe, expect, it } from 'vitest';
import { books } from '../../pipelines/books.ts';
import { type Answer, type Arrival, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

const FOREIGN = { title: 'Advanced Grammar', isbn: '0521693764', isbn13: '9780521693769' };
const WANTED = ['9780140328721', '9780521614030', '9780792712305'] as const;

/** The service returns another book for the second of the ISBNs. */
function recordOf(isbn: string): object {
  return isbn === WANTED[1] ? FOREIGN : { title: `T-${isbn}`, isbn13: isbn };
}

// https://github.com/xlcnd/isbnlib/issues/142
describe('the record of another ISBN is not filed under the one that was requested', () => {
  it('one by one', async () => {
    const clock = steppedClock();
    const answer = ({ path }: Arrival): Answer => ({ body: { book: recordOf(path.slice('/book/'.length)) } });
    await using service = await loggingService({ clock, answer });
    await using api = booksSource({ baseUrl: service.url, key: 'k', limit: { requests: 1_000, windowMs: 1_000 }, env: {} });
    const found = await Promise.allSettled(WANTED.map((isbn) => api.book(isbn)));
    expect(found).toMatchObject([
      { status: 'fulfilled', value: { isbn: WANTED[0], record: { isbn13: WANTED[0] } } },
      { status: 'rejected', reason: { code: 'HEADGATE_INVALID_RECORD', subject: WANTED[1] } },
      { status: 'fulfilled', value: { isbn: WANTED[2], record: { isbn13: WANTED[2] } } },
    ]);
    expect(service.arrivals.map(({ authorization }) => authorization)).toEqual(['k', 'k', 'k']);
  });

  it('in a batch', async () => {
    const clock = steppedClock();
    const answer = (): Answer => ({ body: { total: 3, requested: 3, data: WANTED.map(recordOf) } });
    await using service = await loggingService({ clock, answer });
    const pipeline = books({ baseUrl: service.url, key: 'k', isbns: [...WANTED] });
    const run = await steppedRun({ clock, services: [service], pipelines: [pipeline] });
    expect(run.outcome).toBe('done');
    expect(service.arrivals.map(({ method, path }) => `${method} ${path}`)).toEqual(['POST /books']);
    expect(run.records('books.records').map(({ key }) => key)).toEqual([WANTED[0], WANTED[2]]);
    expect(run.records('books.missing').map(({ key }) => key)).toEqual([WANTED[1]]);
    expect(JSON.stringify(run.records('books.records'))).not.toContain('Advanced Grammar');
  });

  it.each([
    ['9780521693769', { isbn: FOREIGN.isbn, title: FOREIGN.title }],
    ['0521693764', { isbn13: FOREIGN.isbn13, title: FOREIGN.title }],
  ])('and the other form of the same ISBN is accepted: %s', async (isbn, book) => {
    const clock = steppedClock();
    const answer = ({ path }: Arrival): Answer => ({ body: path === '/books' ? { total: 1, requested: 1, data: [book] } : { book } });
    await using service = await loggingService({ clock, answer });
    await using api = booksSource({ baseUrl: service.url, key: 'k', env: {} });
    expect(await api.book(isbn)).toMatchObject({ requested: isbn, isbn: FOREIGN.isbn13, record: book });
    const run = await steppedRun({ clock, services: [service], pipelines: [books({ baseUrl: service.url, key: 'k', isbns: [isbn] })] });
    expect(run.records('books.records').map(({ key }) => key)).toEqual([FOREIGN.isbn13]);
    expect(run.records('books.missing')).toEqual([]);
  });
});
