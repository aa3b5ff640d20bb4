import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type AvailabilityChange, availability } from '../../availability.ts';
import { answeredError } from './answered-error.ts';
import { Client } from './client.ts';
import { Cluster } from './cluster.ts';
import { plainConfig } from './plain-cluster.fixture.ts';

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

it('a signal that aborts during a request rejects with its reason, and the client can still be used', async () => {
  const { client } = newClient();
  const giveUp = new AbortController();
  const running = expect(client.run(() => new Promise<never>(() => undefined), giveUp.signal)).rejects.toBe('enough');
  await vi.advanceTimersByTimeAsync(60_000);
  giveUp.abort('enough');
  await running;
  expect(await client.run(() => Promise.resolve('answered'))).toBe('answered');
});

it('a log that is closed ends the retries with its reason', async () => {
  const { client, close } = newClient();
  const running = expect(client.run(() => Promise.reject(new Error('gone')))).rejects.toBe('closed');
  await vi.advanceTimersByTimeAsync(10);
  close();
  await running;
});

it('does not report brokers as unreachable because they refuse an older producer', async () => {
  const { client, changes, close } = newClient();
  const running = expect(client.run(() => Promise.reject(answeredError(47)))).rejects.toBe('closed');
  await vi.advanceTimersByTimeAsync(10_000);
  expect(changes).toEqual([]);
  close();
  await running;
});

it('an error that is explained by another one ends with that, and is reported as that while it is waited out', async () => {
  const explained = async (fault: unknown): Promise<unknown> =>
    await Promise.resolve(fault === 'first' ? new Error('lagging') : new TypeError('gone'));
  const { client, changes } = newClient(explained);
  const faults = ['first', 'first', 'first', 'first', 'first', 'first', 'last'];
  // oxlint-disable-next-line typescript/prefer-promise-reject-errors -- the texts stand for errors
  const running = expect(client.run(() => Promise.reject(faults.shift()))).rejects.toThrow('gone');
  await vi.advanceTimersByTimeAsync(10_000);
  await running;
  expect(changes.at(0)).toMatchObject({ reason: 'lagging' });
});

function newClient(explained?: (error: unknown) => Promise<unknown>) {
  const changes: AvailabilityChange[] = [];
  const brokers = availability((change) => changes.push(change));
  const closing = new AbortController();
  const cluster = new Cluster({ ...plainConfig(['nowhere:9092']), availability: brokers, signal: closing.signal });
  return { client: new Client(cluster, explained), changes, close: () => closing.abort('closed') };
}
