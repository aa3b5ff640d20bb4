import { type KafkaBroker, startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';
import { newPages } from './pages.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const TIMES = process.env['HEADGATE_TORTURE'] === undefined ? 8 : 100;

describe.skipIf(why !== undefined)(`closed logs${because}`, () => {
  let broker: KafkaBroker;
  beforeAll(async () => {
    broker = await startKafkaBroker();
  });
  afterAll(() => broker.close());

  it(`opened and closed ${TIMES} times, they leave nothing that keeps the process alive, and print nothing`, async () => {
    await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
    const { lane, topic } = await newPages(log);
    const script = fileURLToPath(new URL('./open-and-close.fixture.ts', import.meta.url));
    const args = ['--trace-warnings', script, ...broker.brokers, String(TIMES), lane.name, lane.state.topic, topic];
    const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 600_000 });
    const ended = Date.now();
    expect(stderr).toBe('');
    expect(stdout).toMatch(/^closed \d+\n$/u);
    expect(ended - Number(stdout.slice('closed '.length))).toBeLessThan(5_000);
  });

  it.each([
    ['first fetches of several readers', 0],
    ['opening a lane', 40],
    ['opening a lane', 150],
    ['joining a group', 15],
    ['joining a group', 500],
    ['appending', 15],
    ['all of it, and the broker freezes', 100],
  ])('closed during %s, after %i ms, they keep no process alive', async (order, waitMs) => {
    const [node] = broker.nodes;
    try {
      await using log = await kafkaTopicLog({ brokers: broker.brokers, replication: 1 });
      const { lane, topic } = await newPages(log);
      await log.append([{ topic, partition: 0, key: 'k', value: 'v' }]);
      const script = fileURLToPath(new URL('./close-amid.fixture.ts', import.meta.url));
      const args = [script, order, String(waitMs), ...broker.brokers, String(node?.pid), lane.name, lane.state.topic, topic];
      const { stdout, stderr } = await promisify(execFile)(process.execPath, args, { timeout: 300_000 });
      const ended = Date.now();
      expect(stderr).toBe('');
      expect(stdout).toMatch(/^closed \d+\nsettled\n$/u);
      expect(ended - Number(/\d+/u.exec(stdout)?.[0])).toBeLessThan(5_000);
    } finally {
      node?.resume();
    }
  });
});
