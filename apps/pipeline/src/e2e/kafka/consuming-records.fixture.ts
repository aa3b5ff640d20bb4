import type { NewRecord, TopicLog } from '@headgate/topics';
import type { WrittenTransaction } from './write-transactions.fixture.ts';

export const GROUP = 'headgate';
export const REQUESTS = 'followers.requests';

/** The committed pages of the crawl in partition 0. Their IDs lie around 2^53 and 2^63, where number types lose precision or overflow. */
export const PAGES = [
  ['9007199254740993', '9007199254740992'],
  ['9223372036854775807', '9223372036854775808'],
] as const;
const OTHER_PAGE = ['18446744073709551615', '8882581338626179201'];
/** Written before the second page by an aborted transaction. */
const ABORTED_PAGE = ['1111', '9223372036854775807'];
const OTHER_ABORTED_PAGE = ['2222'];

/** All committed IDs of all partitions. */
export const COMMITTED: readonly string[] = [...PAGES.flat(), ...OTHER_PAGE];
/** IDs of aborted transactions. Committed ones follow them in their partitions. */
export const ABORTED: readonly string[] = [...ABORTED_PAGE, ...OTHER_ABORTED_PAGE];

/** Key and value of the jobs that each enqueuing block writes, exact to the byte. */
export const JOBS: Readonly<Record<string, readonly (readonly [key: string, value: string])[]>> = {
  'kafkajs-ask': [
    ['@alpha', '{"screenName":"alpha"}'],
    ['18446744073709551615', '{"userId":"18446744073709551615"}'],
  ],
  'console-ask': [
    ['@alpha', '{"screenName": "alpha"}'],
    ['12', '{"userId": "12", "count": 5000}'],
  ],
  'python-ask': [
    ['@alpha', '{"screenName": "alpha"}'],
    ['9007199254740995', '{"userId": "9007199254740995"}'],
  ],
};

/** For each reading block: its setting for committed records, the opposite setting, and which records it reads without either. */
export const ISOLATION = [
  { name: 'kafkajs-read', setting: 'readUncommitted: false,', opposite: 'readUncommitted: true,', untold: 'committed' },
  { name: 'console-read', setting: '--isolation-level read_committed', opposite: '--isolation-level read_uncommitted', untold: 'all' },
  {
    name: 'python-read',
    setting: '"isolation.level": "read_committed",',
    opposite: '"isolation.level": "read_uncommitted",',
    untold: 'committed',
  },
] as const;

/** Enqueues a job and marks it as finished, as the pipeline does. */
export async function finishJob(log: TopicLog): Promise<void> {
  await log.append([{ topic: REQUESTS, partition: 0, key: '@alpha', value: '{"screenName":"alpha"}' }]);
  await using lane = await log.openLane({
    name: `${GROUP}.${REQUESTS}.0`,
    state: { topic: 'followers.state', partition: 0 },
  });
  await lane.transaction((tx) => tx.commitOffset({ group: GROUP, topic: REQUESTS, partition: 0, nextOffset: 1 }));
}

/** The transactions that are written before the page's blocks run. */
export function transactions(): readonly WrittenTransaction[] {
  const first = crawlIn(0);
  const second = crawlIn(1);
  return [
    // In partition 0 of `followers.ids`: offsets 0 and 1 with the transaction's marker at 2, then 3 to 5 and 6 to 8.
    { records: ids(first, 1, PAGES[0]), ends: 'committed' },
    { records: ids(first, 2, ABORTED_PAGE), ends: 'aborted' },
    { records: ids(first, 2, PAGES[1]), ends: 'committed' },
    { records: ids(second, 1, OTHER_ABORTED_PAGE), ends: 'aborted' },
    { records: ids(second, 1, OTHER_PAGE), ends: 'committed' },
    { records: [wholePage(1, PAGES[0])], ends: 'committed' },
    { records: [wholePage(2, ABORTED_PAGE)], ends: 'aborted' },
    { records: [wholePage(2, PAGES[1])], ends: 'committed' },
  ];
}

/** The records of a page's IDs, as a crawl writes them. */
function ids({ partition, ...of }: ReturnType<typeof crawlIn>, page: number, list: readonly string[]): NewRecord[] {
  return list.map((id) => ({ topic: 'followers.ids', partition, key: of.user, value: JSON.stringify({ ...of, page, id }) }));
}

function crawlIn(partition: number) {
  return { user: '@alpha', crawl: `${REQUESTS}-${partition}-0`, partition };
}

function wholePage(page: number, list: readonly string[]): NewRecord {
  const { partition, ...of } = crawlIn(0);
  const value = { ...of, page, cursor: '-1', nextCursor: '0', previousCursor: '0', ids: list };
  const headers = {
    ce_specversion: '1.0',
    ce_id: `${of.crawl}/${page}`,
    ce_source: '/followers',
    ce_type: 'headgate.followers.pages',
    'content-type': 'application/json',
  };
  return { topic: 'followers.pages', partition, key: of.user, value: JSON.stringify(value), headers };
}
