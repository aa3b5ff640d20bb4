import { fork } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startKafkaBroker, whyNoKafkaBroker } from '@headgate/broker';
import { afterAll, beforeAll, describe, it } from 'vitest';
import { type ProxiedBroker, proxiedBroker } from './proxied-broker.fixture.ts';

const why = await whyNoKafkaBroker();
const because = why === undefined ? '' : ` (skipped: ${why})`;
const isTorture = process.env['HEADGATE_TORTURE'] === '1';
const BYTES = isTorture ? Array.from({ length: 40 }, (_, index) => index + 1) : [1, 3, 20];
const JOIN_GROUP = '#11';
const HEARTBEAT = '#12';
const LEAVE_GROUP = '#13';
const SYNC_GROUP = '#14';
const CREATE_TOPICS = '#19';
const DESCRIBE_CONFIGS = '#32';

describe.skipIf(why !== undefined)(`a response that breaks off${because}`, { timeout: isTorture ? 1_800_000 : 300_000 }, () => {
  let proxied: ProxiedBroker;
  beforeAll(async () => {
    proxied = await proxiedBroker(startKafkaBroker);
  });
  afterAll(() => proxied.close());

  it.for([
    'ApiVersions',
    'Metadata',
    CREATE_TOPICS,
    DESCRIBE_CONFIGS,
    'FindCoordinator',
    JOIN_GROUP,
    SYNC_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    'InitProducerId',
    'AddPartitionsToTxn',
    'AddOffsetsToTxn',
    'Produce',
    'TxnOffsetCommit',
    'EndTxn',
    'ListOffsets',
    'OffsetFetch',
    'Fetch',
  ])(`after its first bytes, of ${BYTES.length} lengths, ends no process, and no record is lost: %s`, async (api, { expect }) => {
    const script = fileURLToPath(new URL('./broken-answers.fixture.ts', import.meta.url));
    const clientIds = BYTES.map((bytes) => `${api.replace('#', 'api-')}-${bytes}`);
    const child = fork(script, [...proxied.brokers, ...clientIds], { stdio: ['ignore', 'pipe', 'pipe', 'ipc'] });
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error('It has no output.');
    for (const [index, clientId] of clientIds.entries()) {
      let isStruck = false;
      proxied.rules.set(clientId, (request) => {
        if (isStruck || request.api !== api) return 'pass';
        isStruck = true;
        child.send(clientId);
        return { answerBytes: BYTES[index] ?? 0 };
      });
    }
    const [said, errors, [code]] = await Promise.all([text(stdout), text(stderr), once(child, 'exit')]);
    expect(errors).toBe('');
    expect(code).toBe(0);
    expect(said.trim().split('\n').toSorted()).toEqual(clientIds.map((clientId) => `${clientId}: 0 1 2 3`).toSorted());
  });
});
