import { writeSync } from 'node:fs';
import { kafkaTopicLog } from '../index.ts';

/** Opens and closes logs, each with a lane and readers, prints `closed`, and ends when nothing keeps the process alive. */
const [broker = '', times = '1', lane = '', state = '', topic = ''] = process.argv.slice(2);
for (let time = 0; time < Number(times); time += 1) {
  const log = await kafkaTopicLog({ brokers: [broker], replication: 1 });
  const writer = await log.openLane({ name: lane, state: { topic: state, partition: 0 } });
  await writer.transaction((tx) => tx.append([{ topic, partition: 0, key: 'k', value: 'v' }]));
  for (let reader = 0; reader < 5; reader += 1) {
    const abort = new AbortController();
    const following = log.read({ topic, follow: true, signal: abort.signal })[Symbol.asyncIterator]();
    await following.next();
    abort.abort();
    await following.next();
    for await (const record of log.read({ topic })) if (record.offset < 0) break;
  }
  if (time % 2 === 0) await writer.close();
  await log.close();
}
writeSync(1, `closed ${Date.now()}\n`);
