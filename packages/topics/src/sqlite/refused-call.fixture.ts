import { writeSync } from 'node:fs';
import { sqliteTopicLog } from './index.ts';

/** A process that makes a call that can't be sent to the log's thread, and then has nothing more to do. */
const [file = ''] = process.argv.slice(2);
const log = await sqliteTopicLog({ file });
const lane = { name: 'lane', state: { topic: 'state', partition: 0 }, onLost: () => {} };
await log.openLane(lane).catch((error: unknown) => writeSync(1, `${String(error)}\n`));
