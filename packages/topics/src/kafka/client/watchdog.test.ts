import { once } from 'node:events';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import { expect, it, vi } from 'vitest';
import { Watchdog } from './watchdog.ts';

it('a broker that owes an answer at six looks is missed, until it answers', async () => {
  await using wire = await newWire();
  wire.look(10);
  wire.client.write('request');
  await once(wire.broker, 'data');
  wire.look(5);
  expect(wire.told).toEqual([]);
  wire.look(3);
  expect(wire.told).toEqual(['127.0.0.1:9092 does not answer']);
  wire.broker.write('answer');
  await once(wire.client, 'data');
  wire.look(10);
  expect(wire.told).toEqual(['127.0.0.1:9092 does not answer', 'reached']);
});

it('is missed since the first check that found an answer owed', async () => {
  await using wire = await newWire();
  wire.client.write('request');
  await once(wire.broker, 'data');
  vi.useFakeTimers({ toFake: ['Date'] });
  try {
    const firstMs = Date.now();
    for (let look = 0; look < 8; look += 1) {
      wire.look(1);
      vi.setSystemTime(Date.now() + 500);
    }
    expect(wire.since).toEqual([firstMs]);
  } finally {
    vi.useRealTimers();
  }
});

it('a broker that accepts no connection is missed after four checks, also by waiting requests, until it accepts one', () => {
  const told: string[] = [];
  const watcher = { missed: (reason: string) => void told.push(reason), reached: () => void told.push('reached'), gaveUp: () => undefined };
  // Its name is looked up for ever.
  const socket = connect({ host: 'broker-1', port: 9092, lookup: () => undefined });
  const watchdog = new Watchdog({
    socket,
    broker: 'broker-1:9092',
    watcher,
    answerWithinMs: 8_000,
    explained: (reason) => `${reason}, as ever`,
  });
  for (let look = 0; look < 3; look += 1) watchdog.check();
  expect(told).toEqual([]);
  for (let look = 0; look < 9; look += 1) watchdog.check();
  expect(told).toEqual(['broker-1:9092 does not answer, as ever']);
  socket.emit('connect');
  expect(told.at(-1)).toBe('reached');
  socket.destroy();
});

it('one that may take longer is missed later', async () => {
  await using wire = await newWire({ answerWithinMs: 8_000 });
  wire.client.write('request');
  await once(wire.broker, 'data');
  wire.look(15);
  expect(wire.told).toEqual([]);
  wire.look(1);
  expect(wire.told).toEqual(['127.0.0.1:9092 does not answer']);
});

it('one that takes its time, but less than that, is not', async () => {
  await using wire = await newWire();
  for (let request = 0; request < 5; request += 1) {
    wire.client.write('request');
    await once(wire.broker, 'data');
    wire.look(5);
    wire.broker.write('answer');
    await once(wire.client, 'data');
  }
  expect(wire.told).toEqual([]);
});

it('a closed connection is missed a while longer: its requests in flight report it meanwhile', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  try {
    await using wire = await newWire();
    wire.client.write('request');
    await once(wire.broker, 'data');
    wire.look(6);
    wire.watchdog.end();
    expect(wire.told).toHaveLength(1);
    vi.advanceTimersByTime(2_000);
    expect(wire.told.at(-1)).toBe('reached');
  } finally {
    vi.useRealTimers();
  }
});

async function newWire({ answerWithinMs }: { readonly answerWithinMs?: number } = {}) {
  const server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  const [[broker]] = (await Promise.all([once(server, 'connection'), once(client, 'connect')])) as [[Socket], unknown];
  const told: string[] = [];
  const since: (number | undefined)[] = [];
  const watcher = {
    missed: (reason: string, sinceMs?: number) => {
      told.push(reason);
      since.push(sinceMs);
    },
    reached: () => void told.push('reached'),
    gaveUp: () => undefined,
  };
  const watchdog = new Watchdog({
    socket: client,
    broker: '127.0.0.1:9092',
    watcher,
    ...(answerWithinMs !== undefined && { answerWithinMs }),
    explained: String,
  });
  return {
    client,
    broker,
    told,
    since,
    watchdog,
    look: (times: number) => {
      for (let look = 0; look < times; look += 1) watchdog.check();
    },
    async [Symbol.asyncDispose]() {
      client.destroy();
      broker.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
