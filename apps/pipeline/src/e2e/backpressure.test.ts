import { sampleIsbn, startBooks } from '@headgate/sandbox';
import { expect, it } from 'vitest';
import { inProcess } from './in-process.fixture.ts';

it('looks up more than it has room for at once: what is written makes room for the next batches', async () => {
  const isbns = Array.from({ length: 60 }, (_, i) => sampleIsbn(i));
  await using service = await startBooks({ window: { limit: 1_000, windowMs: 1_000 } });
  await using place = await inProcess();
  const run = place.start(`topics: { driver: sqlite, file: ./headgate.db }
books:
  plan: pro
  baseUrl: ${service.url}
  key: "\${KEY}"
  maxBatch: 20
  maxOutstanding: 20
  isbns: ${JSON.stringify(isbns)}
`);
  expect(await run.ended).toEqual([]);
  expect(service.requests.map((request) => request.isbns?.length)).toEqual([20, 20, 20]);
  expect((await place.values('books.records')).map(({ isbn }) => isbn)).toEqual(isbns);
});
