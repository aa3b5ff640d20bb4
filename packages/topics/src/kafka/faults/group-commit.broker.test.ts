import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, it, inject } from 'vitest';
import type { GroupMember, RecordPosition, TopicLog } from '../../topic-log.ts';
import { kafkaTopicLog } from '../index.ts';
import { newPages } from './pages.fixture.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;
const OWN = randomUUID();

describe.skipIf(why !== undefined).concurrent(`the offset of a group${because}`, () => {
  let log: TopicLog;
  beforeAll(async () => {
    log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  });
  afterAll(async () => {
    await log.close();
  });

  async function groupAtWork(group: string): Promise<{ readonly member: GroupMember; readonly record: RecordPosition }> {
    await log.createTopics([{ name: group, partitions: 1 }]);
    const [record = { topic: group, partition: 0, offset: -1 }] = await log.append([{ topic: group, key: null, value: 'v' }]);
    const [onAssigned, onUncertain, onFailed] = [() => undefined, () => undefined, () => undefined];
    const member = await log.joinGroup({ group, topics: [group], agreement: 'same', onAssigned, onUncertain, onFailed });
    return { member, record };
  }

  it('can’t be committed while the group has members, and the error names the group', async ({ expect }) => {
    const { member, record } = await groupAtWork(`at-work-${OWN}`);
    await using reader = log.read({ topic: `at-work-${OWN}`, group: `at-work-${OWN}` });
    const refused = reader.commit(record);
    await expect(refused).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_GROUP_IN_USE' }));
    await expect(refused).rejects.toThrow(/^Offsets of group "at-work-.*can't be committed/u);
    await member.leave();
    await reader.commit(record);
    expect(await log.groupOffset({ group: `at-work-${OWN}`, topic: `at-work-${OWN}`, partition: 0 })).toBe(1);
  });

  it('is the one that another process committed if that is greater than ours', async ({ expect }) => {
    const pages = await newPages(log, { partitions: 1 });
    const place = { group: pages.group, topic: `${pages.lane.name}.requests`, partition: 0 };
    await using other = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const ours = await log.openLane(pages.lane);
    await pages.write(ours);
    await ours.close();
    const theirs = await other.openLane(pages.lane);
    await pages.write(theirs, 2);
    // A group's coordinator learns of a transaction's offset only a moment after the commit, so poll for it.
    await expect.poll(() => log.groupOffset(place)).toBe(3);
    await theirs.close();
  });
});
