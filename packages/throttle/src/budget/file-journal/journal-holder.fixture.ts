import { fileJournal } from './index.ts';

/** Holds a journal until it is killed. */
await fileJournal({ file: process.argv[2] ?? '' });
process.stdout.write('held\n');
setInterval(() => undefined, 1_000);
