import { type AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';

/** Uses the broker in the first argument with each client ID in the others. Prints the records that each client has read. */
const [brokers = '', ...clientIds] = process.argv.slice(2);
const AT_ONCE = 8;
const struck = new Map(clientIds.map((clientId) => [clientId, Promise.withResolvers<void>()]));
process.on('message', (clientId) => struck.get(String(clientId))?.resolve());

async function work(clientId: string): Promise<void> {
  const changes: AvailabilityChange[] = [];
  await using log = await kafkaTopicLog({
    brokers: [brokers],
    clientId,
    replication: 1,
    sessionTimeoutMs: 3_000,
    onAvailability: (change) => changes.push(change),
  });
  const [records, state, requests] = ['records', 'state', 'requests'].map((name) => `${clientId}.${name}`) as [string, string, string];
  await log.createTopics([
    { name: records, partitions: 1 },
    { name: state, partitions: 1, compacted: true },
    { name: requests, partitions: 1 },
  ]);
  const assigned = Promise.withResolvers<void>();
  const member = await log.joinGroup({
    group: clientId,
    topics: [requests],
    agreement: '',
    onAssigned: ({ length }) => {
      if (length > 0) assigned.resolve();
    },
    onUncertain: () => undefined,
    onFailed: assigned.reject,
  });
  await assigned.promise;
  const place = { topic: records, partition: 0 };
  const commit = { group: `${clientId}.offsets`, topic: requests, partition: 0 };
  const stop = new AbortController();
  const following = (async () => {
    for await (const { value } of log.read({ topic: records, follow: true, signal: stop.signal })) if (value === '3') return;
  })();
  const lane = await log.openLane({ name: clientId, state: { topic: state, partition: 0 }, writes: [place], commits: [commit] });
  const page = async (number: number): Promise<void> =>
    await lane.transaction((tx) => {
      tx.append([{ ...place, key: null, value: String(number) }]);
      tx.commitOffset({ ...commit, nextOffset: number });
    });
  await page(0);
  await page(1);
  await log.append([{ ...place, key: null, value: '2' }]);
  await log.groupOffset(commit);
  if (!clientId.startsWith('api-13')) await struck.get(clientId)?.promise;
  await member.leave();
  await struck.get(clientId)?.promise;
  await page(3);
  await following;
  const read: string[] = [];
  for await (const { value } of log.read({ topic: records })) read.push(value ?? '');
  process.stdout.write(`${clientId}: ${read.join(' ')}\n`);
}

const left = clientIds.values();
const worker = async (): Promise<void> => {
  for (const clientId of left) await work(clientId);
};
await Promise.all(Array.from({ length: AT_ONCE }, worker));
process.disconnect();
