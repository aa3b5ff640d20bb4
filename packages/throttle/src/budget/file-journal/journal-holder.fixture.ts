import { statSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { fileJournal } from './index.ts';

/** Opens a journal and prints the size of its write-ahead log. Then writes a grant for each line of input, and prints the result. */
const [file = ''] = process.argv.slice(2);
const journal = await fileJournal({ file });
const other = journal.open('other', () => [{ windowMs: 10_000, busy: [], heldMs: 60_000 }]);
const busy: (readonly [number, number])[] = [];
const app = journal.open('app', () => [{ windowMs: 10_000, busy }]);
await app.granted();
other.settled();
process.stdout.write(`${statSync(`${file}-wal`).size}\n`);
for await (const _ of createInterface({ input: process.stdin })) {
  busy.splice(0, 1, [10_000, 1]);
  const said = await app.granted().then(
    () => 'granted',
    (error: unknown) => JSON.stringify(Object.assign({}, error, { message: (error as Error).message })),
  );
  process.stdout.write(`${said}\n`);
}
