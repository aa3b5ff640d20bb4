import { text } from 'node:stream/consumers';
import { sampleIsbn } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { workplace } from './headgate-process.fixture.ts';
import { type HttpService, httpService } from './http-service.fixture.ts';

const [found, nameless, unknown] = [sampleIsbn(1), sampleIsbn(2), sampleIsbn(3)];

it('replay requests all ISBNs again to which a record without an ISBN may belong', async () => {
  let isMended = false;
  await using service = await booksService((isbns) =>
    isbns.flatMap((isbn) => {
      if (isbn === unknown) return [];
      return [isbn === nameless && !isMended ? { title: 'Nameless' } : { isbn13: isbn }];
    }),
  );
  await using place = await workplace(`topics: { driver: sqlite, file: ./headgate.db }
status: false
books:
  baseUrl: ${service.url}
  key: "\${KEY}"
  isbns: ${JSON.stringify([found, nameless, unknown])}
`);
  const run = await place.headgate('run');
  expect(run.code).toBe(1);
  expect(run.stderr).toContain(`${unknown}: no record names it, but its batch had a record that names no ISBN`);
  expect((await place.records('books.records')).map(({ key }) => key)).toEqual([found]);
  expect(await place.records('books.missing')).toEqual([]);
  const deadLetters = await place.records('books.dead-letters');
  expect(deadLetters.map(({ value }) => value['request'] ?? value['record'])).toEqual([
    { title: 'Nameless' },
    { isbn: nameless },
    { isbn: unknown },
  ]);
  expect(new Set(deadLetters.map(({ headers }) => headers['ce_id'])).size).toBe(3);

  isMended = true;
  expect((await place.headgate('replay', 'books.dead-letters')).stderr).toContain('2 re-enqueued into books.requests, 1 skipped');
  expect((await place.headgate('run')).code).toBe(0);
  expect((await place.records('books.records')).map(({ key }) => key)).toEqual([found, nameless]);
  expect((await place.records('books.missing')).map(({ key }) => key)).toEqual([unknown]);
});

async function booksService(recordsOf: (isbns: readonly string[]) => unknown): Promise<HttpService> {
  return await httpService((request, response) => {
    void text(request).then((body) => {
      const isbns = body.replace('isbns=', '').split(',');
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify({ total: isbns.length, requested: isbns.length, data: recordsOf(isbns) }));
    });
  });
}
