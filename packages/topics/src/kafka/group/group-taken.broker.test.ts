import { randomUUID } from 'node:crypto';
import { describe, expect, it, inject } from 'vitest';
import { startChild } from '../../sqlite/child.fixture.ts';
import { kafkaTopicLog } from '../index.ts';
import { TopicLogError } from '../../topic-log-error.ts';

const SESSION_MS = 6_000;
const { why, ...broker } = inject('kafkaBroker');

describe.skipIf(why !== undefined)(`a group of other consumers${why === undefined ? '' : ` (skipped: ${why})`}`, () => {
  it('is refused, and available once they have been dead for a session, as the error says', async () => {
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const [topic, group] = [`requests-${randomUUID()}`, `shared-${randomUUID()}`];
    await log.createTopics([{ name: topic, partitions: 1 }]);
    const join = () =>
      log.joinGroup({
        group,
        topics: [topic],
        agreement: 'same',
        onAssigned: () => undefined,
        onUncertain: () => undefined,
        onFailed: () => undefined,
      });
    const script = new URL('./stranger.fixture.ts', import.meta.url);
    const stranger = startChild({ script, args: [broker.brokers[0] ?? '', group, topic, String(SESSION_MS)] });
    await stranger.line('joined');
    await stranger.kill();
    await expect(join()).rejects.toThrow(expect.objectContaining({ code: 'HEADGATE_GROUP_TAKEN' }));
    await expect(join()).rejects.toThrow(/just killed them.*session timeout has passed/u);
    const joins = async (): Promise<boolean> => {
      try {
        await (await join()).leave();
        return true;
      } catch (error) {
        if (error instanceof TopicLogError && error.code === 'HEADGATE_GROUP_TAKEN') return false;
        throw error;
      }
    };
    await expect.poll(joins, { interval: 250 }).toBe(true);
  });
});
