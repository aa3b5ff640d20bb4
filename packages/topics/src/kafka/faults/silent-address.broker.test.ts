import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, type Socket, createServer } from 'node:net';
import { describe, inject, it } from 'vitest';
import { kafkaTopicLog } from '../index.ts';

const { why, ...broker } = inject('kafkaBroker');
const because = why === undefined ? '' : ` (skipped: ${why})`;

describe.skipIf(why !== undefined)(`the first address, which accepts connections but no longer responds${because}`, () => {
  it('is passed over when a log opens, and not asked again', async ({ expect }) => {
    const [there = ''] = broker.brokers;
    await using door = await openDoor();
    await using log = await kafkaTopicLog({ brokers: [door.address, there], replication: 1 });
    const topic = `silent-${randomUUID()}`;
    await log.createTopics([{ name: topic, partitions: 1 }]);
    await log.append([{ topic, key: null, value: 'read' }]);
    const values = await Array.fromAsync(log.read({ topic }), ({ value }) => value);
    expect(values).toEqual(['read']);
    expect(door.knocks()).toBe(1);
  });
});

interface Door extends AsyncDisposable {
  readonly address: string;
  /** Number of connections so far. */
  knocks(): number;
}

/** Opens a port that accepts connections and says nothing. */
async function openDoor(): Promise<Door> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => sockets.add(socket.on('error', () => undefined)));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    knocks: () => sockets.size,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
