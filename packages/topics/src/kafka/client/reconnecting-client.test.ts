import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from '../../availability.ts';
import { patienceOf } from './patience.fixture.ts';
import { Link } from './reconnecting-client.ts';

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('who gives up misses nothing any more', async () => {
  const { link, changes } = newLink();
  const giveUp = new AbortController();
  const askedMs = Date.now();
  const running = link.run(() => Promise.reject(new Error('gone')), giveUp.signal);
  running.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(changes).toEqual([{ available: false, reason: 'gone', sinceMs: askedMs }]);
  giveUp.abort();
  await expect(running).rejects.toThrow(/aborted/u);
  expect(changes.slice(1)).toEqual([{ available: true }]);
});

it('rejects with the reason of a signal that aborts while it waits to try again', async () => {
  const { link } = newLink();
  const giveUp = new AbortController();
  const running = expect(link.run(() => Promise.reject(new Error('gone')), giveUp.signal)).rejects.toBe('enough');
  await vi.advanceTimersByTimeAsync(10);
  giveUp.abort('enough');
  await running;
});

it('rejects with the reason of a signal that aborts while the work has no answer, and goes on with the connection', async () => {
  const { link, connections } = newLink();
  const giveUp = new AbortController();
  const running = expect(link.run(() => new Promise<never>(() => undefined), giveUp.signal)).rejects.toBe('enough');
  await vi.advanceTimersByTimeAsync(60_000);
  giveUp.abort('enough');
  await running;
  expect(await link.run(() => Promise.resolve('answered'))).toBe('answered');
  expect(connections).toHaveLength(1);
});

it('a connection that was dropped while others worked with it is ended after them, too', async () => {
  const { link, connections } = newLink();
  const gate = Promise.withResolvers<void>();
  const slow = link.once(async (connection) => {
    await gate.promise;
    connection.isOpen = true;
  });
  await expect(link.once(() => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  await link.once(() => Promise.resolve());
  gate.resolve();
  await slow;
  await vi.advanceTimersByTimeAsync(0);
  expect(connections.map(({ isOpen }) => isOpen)).toEqual([false, true]);
});

it('a failure drops the connection it was on, and no newer one', async () => {
  const { link, connections } = newLink();
  const gate = Promise.withResolvers<never>();
  const slow = link.once(() => gate.promise);
  await link.once(() => Promise.reject(new Error('gone'))).catch(() => undefined);
  await link.once(() => Promise.resolve());
  gate.reject(new Error('gone, too'));
  await expect(slow).rejects.toThrow('gone, too');
  await link.once(() => Promise.resolve());
  expect(connections).toHaveLength(2);
});

it('makes no connection once it is closed', async () => {
  const { link, connections } = newLink();
  await link.close();
  await expect(link.once(() => Promise.resolve())).rejects.toThrow(/aborted/u);
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

function newLink() {
  const changes: AvailabilityChange[] = [];
  const connections: Connection[] = [];
  const create = (): Connection => {
    const connection = new Connection();
    connections.push(connection);
    return connection;
  };
  const brokers = availability((change) => changes.push(change));
  return { link: new Link({ create, patience: () => patienceOf(brokers) }), changes, connections };
}
