import { expect, test } from 'vitest';
import { crawlChanges } from './crawl-changes.ts';

test.each([
  ['in sequence', (index: number) => BigInt(index)],
  ['with the time in the upper bits', (index: number) => BigInt(index) << 22n],
  ['in the upper half alone', (index: number) => BigInt(index) << 32n],
])('90,000 ids %s, two thirds of them in both crawls, are compared in 300 kB', async (_, idOf) => {
  const ids = Array.from({ length: 90_000 }, (_, index) => String(idOf(index)));
  const bytes = (): number => process.memoryUsage().arrayBuffers;
  const [first, most] = [bytes(), { bytes: 0 }];
  const reading = (crawl: readonly string[]) =>
    function* () {
      yield crawl;
      most.bytes = Math.max(most.bytes, bytes() - first);
    };
  const [before, after] = [ids.slice(0, 75_000), ids.slice(15_000)];
  let changes = 0;
  for await (const _ of crawlChanges({ before: reading(before), after: reading(after), maxBytes: 300_000 })) changes += 1;
  expect(changes).toBe(30_000);
  // The 150 kB above `maxBytes` leave space for the two sets of positions, and for the table that was outgrown.
  expect(most.bytes).toBeLessThan(450_000);
});
