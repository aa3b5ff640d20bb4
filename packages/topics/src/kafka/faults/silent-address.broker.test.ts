import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { describe, inject, it } from 'vitest';
import type { AvailabilityChange } from '../../availability.ts';
import { kafkaTopicLog } from '../index.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`the first address, which accepts connections but no longer responds${because}`, () => {
  it('is reported, and a new client begins with the next address', async ({ expect }) => {
    const [there = ''] = broker.brokers;
    await using door = await openDoor(there);
    const changes: AvailabilityChange[] = [];
    const onAvailability = (change: AvailabilityChange): void => void changes.push(change);
    await using log = await kafkaTopicLog({ brokers: [door.address, there], replication: 1, onAvailability });
    const topic = `silent-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await log.append([{ topic, key: null, value: 'read' }]);
    const firstRecord = async (): Promise<unknown> => (await log.read({ topic, follow: true })[Symbol.asyncIterator]().next()).value?.value;

    door.freeze();
    const late = firstRecord();
    await expect.poll(() => changes.at(-1)).toMatchObject({ available: false, reason: `${door.address} isn't responding` });
    expect(await firstRecord()).toBe('read');
    expect(door.knocks()).toBe(1);
    await log.close();
    await late;
  });
});

interface Door extends AsyncDisposable {
  readonly address: string;
  /** From now on, connections are accepted, but nothing passes. */
  freeze(): void;
  /** Number of connections since `freeze`. */
  knocks(): number;
}

/** Opens a port that leads to `address`. */
async function openDoor(address: string): Promise<Door> {
  const [host, port] = address.split(':');
  const sockets = new Set<Socket>();
  let knocks: number | undefined;
  const server = createServer((outer) => {
    const inner = knocks === undefined ? connect(Number(port), host) : undefined;
    if (knocks !== undefined) knocks += 1;
    for (const socket of [outer, inner]) if (socket !== undefined) sockets.add(socket.on('error', () => undefined));
    if (inner !== undefined) outer.pipe(inner).pipe(outer);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    freeze: () => void (knocks = 0),
    knocks: () => knocks ?? 0,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
