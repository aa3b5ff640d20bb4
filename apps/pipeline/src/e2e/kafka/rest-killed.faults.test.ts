import { kafkaTopicLog } from '@headgate/topics/kafka';
import { startKafkaBroker } from '@headgate/broker';
import { describe, expect, it } from 'vitest';
import { workplace } from '../headgate-process.fixture.ts';
import { killedAmid, libraryYaml, startLibrary } from '../library.fixture.ts';
import { SEEDED, chanceOf } from './chance.fixture.ts';
import { fleet } from './fleet.fixture.ts';
import { BECAUSE, TORTURE, WHY_NOT } from './kafka-place.fixture.ts';

const KILLS = TORTURE ? 20 : 3;

describe.skipIf(WHY_NOT !== undefined)(`headgate run of a section on Kafka, two processes ${SEEDED}${BECAUSE}`, () => {
  it(
    `killed ${KILLS} times during a thousand children, write each record of three levels once, and repeat at most one request per listing and kill`,
    { timeout: 600_000 + 30_000 * KILLS },
    async () => {
      await using broker = await startKafkaBroker();
      await using library = await startLibrary();
      const { brokers } = broker;
      const topics = `driver: kafka, brokers: [${brokers.join(', ')}], replication: 1`;
      await using place = await workplace(libraryYaml({ topics, url: library.url }));
      await using crew = fleet({ folder: place.folder });
      const openLog = async () => await kafkaTopicLog({ brokers });
      const start = () => crew.start('run', '--follow');
      const chance = chanceOf('rest killed');
      await killedAmid({ library, kills: KILLS, processes: 2, start, openLog, random: () => chance.next() });
      const { code, stderr } = await crew.start('run').ended;
      expect(code, stderr).toBe(0);
      await using log = await openLog();
      await library.expectWhole(log, 'library');
    },
  );
});
