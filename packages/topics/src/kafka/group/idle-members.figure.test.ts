import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { expect, it } from 'vitest';
import { startChild } from '../../sqlite/child.fixture.ts';
import { kafkaTopicLog } from '../index.ts';

const why = await whyNoKafkaBroker();

it.skipIf(why !== undefined)(`members cost next to nothing while idle${why === undefined ? '' : ` (skipped: ${why})`}`, async () => {
  await using broker = await startKafkaBroker();
  await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  const topic = 'requests';
  await log.createTopics([{ name: topic, partitions: 4 }]);
  const script = new URL('./member-process.fixture.ts', import.meta.url);
  // The fixture prints warnings itself.
  const spawn = { env: { ...process.env, NODE_NO_WARNINGS: '1' } };
  const child = startChild({ script, spawn, args: [broker.brokers[0] ?? '', topic, topic, 'same', '8000'] });
  const line = await child.line('idle');
  child.process.stdin?.end();
  await child.ended;
  process.stderr.write(`idle CPU: ${Number(line.split(' ')[1]).toFixed(1)} ms/s\n`);
  expect(child.lines.filter((each) => each.startsWith('warning'))).toEqual([]);
});
