import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/sandbox/kafka-broker';
import { expect, it } from 'vitest';
import { startChild } from '../../sqlite/child.fixture.ts';
import { kafkaTopicLog } from '../index.ts';

const why = await whyNoKafkaBroker();

it.skipIf(why !== undefined)(`members cost next to nothing while idle${why === undefined ? '' : ` (skipped: ${why})`}`, async () => {
  await using broker = await startKafkaBroker();
  await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
  const topic = 'requests';
  await log.createTopics([{ name: topic, partitions: 4 }]);
  const idle = async (patch: 'patched' | 'as delivered') => {
    const script = new URL('./member-process.fixture.ts', import.meta.url);
    // The fixture prints warnings itself.
    const spawn = { env: { ...process.env, NODE_NO_WARNINGS: '1' } };
    const child = startChild({ script, spawn, args: [broker.brokers[0] ?? '', topic, topic, 'same', patch, '8000'] });
    const line = await child.line('idle');
    child.process.stdin?.end();
    await child.ended;
    return { msPerSecond: Number(line.split(' ')[1]), lines: child.lines };
  };
  const delivered = await idle('as delivered');
  const patched = await idle('patched');
  process.stderr.write(`idle CPU: ${delivered.msPerSecond.toFixed(1)} ms/s as delivered, ${patched.msPerSecond.toFixed(1)} ms/s patched\n`);
  expect(delivered.lines).toContain('warning TimeoutNegativeWarning');
  expect(patched.lines.filter((line) => line.startsWith('warning'))).toEqual([]);
  expect(patched.msPerSecond).toBeLessThan(delivered.msPerSecond / 2);
});
