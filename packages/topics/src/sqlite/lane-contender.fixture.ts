import { writeSync } from 'node:fs';
import { LaneHeldError } from '../lane-errors.ts';
import { sqliteTopicLog } from './index.ts';

/** Opens a log and a lane at a given time, prints whether it got the lane, and stays until its stdin ends. */
const [file = '', atMs = '0'] = process.argv.slice(2);
process.stdin.resume();
const told = new Promise((resolve) => process.stdin.once('end', resolve));
while (Date.now() < Number(atMs)) {
  // All contenders leave this loop at about the same time.
}
const log = await sqliteTopicLog({ file });
await log.createTopics([{ name: 'state', partitions: 1, compacted: true }]);
try {
  const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
  await lane.transaction((tx) => tx.checkpoint(String(process.pid), 'held'));
  writeSync(1, `result held ${process.pid}\n`);
} catch (error) {
  if (!(error instanceof LaneHeldError)) throw error;
  writeSync(1, `result refused ${error.pid}\n`);
}
await told;
await log.close();
