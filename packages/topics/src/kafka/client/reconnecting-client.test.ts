import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from '../../availability.ts';
import { patienceOf } from './patience.fixture.ts';
import { ReconnectingClient } from './reconnecting-client.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('a client that gives up doesn’t report the brokers as reachable, but its next success does', async () => {
  const { client, changes } = newClient();
  const giveUp = new AbortController();
  const requestedMs = Date.now();
  const running = client.run(() => Promise.reject(new Error('gone')), giveUp.signal);
  running.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changes).toEqual([{ available: false, reason: 'gone', sinceMs: requestedMs }]);
  giveUp.abort();
  await expect(running).rejects.toThrow(/aborted/u);
  expect(changes).toHaveLength(1);
  await client.run(() => Promise.resolve());
  expect(changes.slice(1)).toEqual([{ available: true }]);
});

it('a signal that aborts while a client waits for its next attempt rejects with its reason', async () => {
  const { client } = newClient();
  const giveUp = new AbortController();
  const running = expect(client.run(() => Promise.reject(new Error('gone')), giveUp.signal)).rejects.toBe('enough');
  await vi.advanceTimersByTimeAsync(10);
  giveUp.abort('enough');
  await running;
});

it('a signal that aborts during a request rejects with its reason, and the client keeps its connection', async () => {
  const { client, connections } = newClient();
  const giveUp = new AbortController();
  const running = expect(client.run(() => new Promise<never>(() => undefined), giveUp.signal)).rejects.toBe('enough');
  await vi.advanceTimersByTimeAsync(60_000);
  giveUp.abort('enough');
  await running;
  expect(await client.run(() => Promise.resolve('answered'))).toBe('answered');
  expect(connections).toHaveLength(1);
});

it('a dropped connection is closed once its last user has finished', async () => {
  const { client, connections } = newClient();
  const gate = Promise.withResolvers<void>();
  const slow = client.once(async (connection) => {
    await gate.promise;
    connection.isOpen = true;
  });
  await expect(client.once(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  await client.once(() => Promise.resolve());
  gate.resolve();
  await slow;
  await vi.advanceTimersByTimeAsync(0);
  expect(connections.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

it('an error drops the connection it occurred on, and no newer one', async () => {
  const { client, connections } = newClient();
  const gate = Promise.withResolvers<never>();
  const slow = client.once(() => gate.promise);
  await client.once(() => Promise.reject(new Error('gone'))).catch(() => undefined);
  await client.once(() => Promise.resolve());
  gate.reject(new Error('gone, too'));
  await expect(slow).rejects.toThrow('gone, too');
  await client.once(() => Promise.resolve());
  expect(connections).toHaveLength(2);
});

it('a closed client opens no connection', async () => {
  const { client, connections } = newClient();
  const reason = new Error('closed');
  await client.close(reason);
  await expect(client.once(() => Promise.resolve())).rejects.toBe(reason);
  expect(connections).toEqual([]);
});

class Connection {
  isOpen = false;

  async connect(): Promise<void> {
    this.isOpen = true;
    await Promise.resolve();
  }

  async disconnect(): Promise<void> {
    this.isOpen = false;
    await Promise.resolve();
  }
}

function newClient() {
  const changes: AvailabilityChange[] = [];
  const connections: Connection[] = [];
  const create = (): Connection => {
    const connection = new Connection();
    connections.push(connection);
    return connection;
  };
  const brokers = availability((change) => changes.push(change));
  return { client: new ReconnectingClient({ create, patience: () => patienceOf(brokers) }), changes, connections };
}
