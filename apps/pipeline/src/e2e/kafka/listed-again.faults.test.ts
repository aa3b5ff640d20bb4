import { startKafkaBroker } from '@headgate/broker';
import { kafkaTopicLog } from '@headgate/topics/kafka';
import { describe, expect, it } from 'vitest';
import { workplace } from '../headgate-process.fixture.ts';
import { REPEATED, repeatedAfterKill } from '../listed-again.fixture.ts';
import { BECAUSE, WHY_NOT } from './kafka-place.fixture.ts';

describe.skipIf(WHY_NOT !== undefined)(`headgate run --again on Kafka${BECAUSE}`, { timeout: 300_000 }, () => {
  it('loses no job if it is killed right after it has added a list again', async () => {
    await using broker = await startKafkaBroker();
    const { brokers } = broker;
    await using place = await workplace('status: false\n');
    const openLog = async () => await kafkaTopicLog({ brokers });
    expect(await repeatedAfterKill(place, { driver: 'kafka', brokers, replication: 1 }, openLog)).toEqual(REPEATED);
    expect((await place.headgate('run')).stderr).toContain('Nothing to do');
  });
});
