import { writeSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { TopicLogError } from '../topic-log-error.ts';
import { sqliteTopicLog } from './index.ts';

/** Writes transactions. If there is no space, it prints `full`, retries until there is space, and ends after twenty successful ones. */
const [file = ''] = process.argv.slice(2);
const log = await sqliteTopicLog({ file });
await log.createTopics([
  { name: 'topic', partitions: 1 },
  { name: 'state', partitions: 1, compacted: true },
]);
const lane = await log.openLane({ name: 'lane', state: { topic: 'state', partition: 0 } });
let full = 0;
for (let done = 0, after = 0; after < 20;) {
  try {
    await lane.transaction((tx) => {
      tx.append(
        Array.from({ length: 100 }, (_, index) => ({ topic: 'topic', partition: 0, key: 'k', value: `${done}/${index}`.padEnd(500) })),
      );
      tx.checkpoint('done', String(done + 1));
    });
    done++;
    if (full > 0) after++;
  } catch (error) {
    if (!(error instanceof TopicLogError && error.code === 'HEADGATE_TOPIC_LOG_FULL')) throw error;
    if (full++ === 0) writeSync(1, `full ${done}\n`);
    await pause(20);
  }
}
writeSync(1, `done ${lane.state.get('done')}\n`);
await log.close();
