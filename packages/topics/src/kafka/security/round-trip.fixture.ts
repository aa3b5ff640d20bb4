import { randomUUID } from 'node:crypto';
import type { TopicLog } from '../../topic-log.ts';

/** Writes a record and a checkpoint in one transaction, and reads both back. */
export async function roundTrip(
  log: TopicLog,
): Promise<{ readonly values: readonly (string | null)[]; readonly state: string | undefined }> {
  const name = randomUUID();
  const [records, state] = [`records-${name}`, `state-${name}`];
  await log.createTopics([
    { name: records, partitions: 1 },
    { name: state, partitions: 1, compacted: true },
  ]);
  await using lane = await log.openLane({ name, state: { topic: state, partition: 0 } });
  await lane.transaction((tx) => {
    tx.append([{ topic: records, partition: 0, key: 'a', value: 'written' }]);
    tx.checkpoint('at', '1');
  });
  const values: (string | null)[] = [];
  for await (const record of log.read({ topic: records })) values.push(record.value);
  return { values, state: (await log.readState(state, 0)).get('at') };
}
