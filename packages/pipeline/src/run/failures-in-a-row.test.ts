import { expect, test } from 'vitest';
import { catalogue, catalogueService } from '../testing/catalogue.fixture.ts';
import { start } from './start.ts';
import { temporaryLog } from '../testing/temporary-log.fixture.ts';

const shelves = Array.from({ length: 60 }, (_, i) => `shelf${String.fromCharCode(97 + (i % 26)).repeat(1 + Math.floor(i / 26))}`);
const limit = { requests: 1, windowMs: 10 };

test('identical failures without a success end the lane, and the remaining requests stay for the next run', async () => {
  const items: Record<string, number> = {};
  await using service = await catalogueService({ items });
  await using place = await temporaryLog();
  const { log } = place;
  const run = async () => {
    const pipeline = catalogue()({ baseUrl: service.baseUrl, token: 't', shelves, limit, stopAfterFailures: 5 });
    const running = await start({ log, pipelines: [pipeline] });
    return await running.done;
  };
  const first = await run();
  expect(first.failures).toMatchObject([{ code: 'HEADGATE_FAILURES_IN_A_ROW' }]);
  expect(String(first.failures[0])).toMatch(
    /catalogue: 5 requests in a row ended with HEADGATE_NO_SHELF \(404\), and none succeeded\. .*There is no shelf/,
  );
  const deadLetters = async (): Promise<readonly unknown[]> => await Array.fromAsync(log.read({ topic: 'catalogue.dead-letters' }));
  const failed = (await deadLetters()).length;
  expect(failed).toBeGreaterThanOrEqual(5);
  expect(failed).toBeLessThanOrEqual(6);
  expect(service.requests).toHaveLength(failed);

  // After a first success, missing shelves say nothing about the others, so they don't end the lane.
  items['shelfz'] = 3;
  for (const shelf of shelves.slice(30)) items[shelf] = 1;
  let last = await run();
  for (let i = 0; i < 10 && last.failures.length > 0; i += 1) last = await run();
  expect(last).toMatchObject({ failures: [] });
  const records = await Array.fromAsync(log.read({ topic: 'catalogue.records' }));
  expect((await deadLetters()).length).toBe(60 - Object.keys(items).length);
  expect(new Set(records.map(({ key }) => key)).size).toBe(Object.keys(items).length);
});
