import { sqliteTopicLog } from './index.ts';

/**
 * Writes page after page until it is killed, with IDs as single records and as a series. Prints each page's number when its transaction is
 * acknowledged.
 */
const [file = '', records = '20', seriesRecords = '5000'] = process.argv.slice(2);
const log = await sqliteTopicLog({ file });
await log.createTopics([
  { name: 'pages', partitions: 1 },
  { name: 'ids', partitions: 3 },
  { name: 'state', partitions: 1, compacted: true },
]);
const lane = await log.openLane({ name: 'crawl', state: { topic: 'state', partition: 0 } });
await say('open');
for (let page = Number(lane.state.get('page') ?? '0') + 1; ; page++) {
  await lane.transaction((tx) => {
    const ids = Array.from({ length: Number(records) }, (_, index) => ({
      topic: 'ids',
      partition: 1,
      key: '@alpha',
      value: `${page}/${index}`,
    }));
    const valueAt = (index: number): string => `${page}/${index}`;
    const series = { topic: 'ids', partition: 2, key: '@alpha', count: Number(seriesRecords), valueAt };
    tx.append([{ topic: 'pages', partition: 0, key: '@alpha', value: String(page) }, ...ids, series]);
    tx.checkpoint('page', String(page));
    tx.commitOffset({ group: 'crawler', topic: 'pages', partition: 0, nextOffset: page });
  });
  await say(`page ${page}`);
}

/** Prints a line. Waits until the pipe has taken it, in case the test reads more slowly than pages are written. */
function say(line: string): Promise<void> {
  return new Promise((resolve) => process.stdout.write(`${line}\n`, () => resolve()));
}
