import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, Socket, connect, createServer } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { repair } from './connection.ts';
import type { KafkajsConnection, RequestQueue } from './kafkajs-internals.ts';

const require = createRequire(import.meta.url);
const Connection = require('kafkajs/src/network/connection') as {
  new (options: object): KafkajsConnection;
};
const Long = require('kafkajs/src/utils/long') as { fromValue(value: number): object };
const server = createServer();
beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
});

it('a connection opens one socket, however often it is told to connect meanwhile; kafkajs’s own leaks some', async () => {
  expect(await socketsOfTwoConnects(() => undefined)).toBe(2);
  expect(await socketsOfTwoConnects(repair)).toBe(1);
});

it('a connection leaves no listener on its socket, however often it is told to disconnect; kafkajs’s own leaks one each time', async () => {
  const leaked = async (change: (connection: KafkajsConnection) => void): Promise<number> => {
    const { port } = server.address() as AddressInfo;
    const connection = newConnection(({ host, onConnect }) => connect(port, host, onConnect));
    change(connection);
    await connection.connect();
    connection.socket?.destroy();
    for (let times = 0; times < 5; times += 1) await connection.disconnect();
    return connection.socket?.listenerCount('connect') ?? 0;
  };
  expect(await leaked(() => undefined)).toBe(5);
  expect(await leaked(repair)).toBe(1);
});

it('a connection that failed connects again', async () => {
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const connection = newConnection(({ host, onConnect }) => {
    sockets.push(connect(sockets.length === 0 ? 1 : port, host, onConnect));
    return sockets.at(-1) as Socket;
  });
  repair(connection);
  await expect(connection.connect()).rejects.toThrow(/ECONNREFUSED/u);
  await connection.connect();
  for (const socket of sockets) socket.destroy();
});

it('a connection that has just authenticated doesn’t do so again, however short its session; kafkajs’s own does before each request', () => {
  // A session of 1 s has less than the threshold of 60 s left from its start, so kafkajs would authenticate again before each request.
  const connection = Object.assign(
    newConnection(() => new Socket()),
    { reauthenticationThreshold: 60_000 },
  );
  const at = (secondsAgo: number): [number, number] => {
    const [seconds, nanoseconds] = process.hrtime();
    return [seconds - secondsAgo, nanoseconds];
  };
  const since = (secondsAgo: number): boolean =>
    Object.assign(connection, { authenticatedAt: at(secondsAgo), sessionLifetime: Long.fromValue(1_000) }).isAuthenticated();
  expect([since(0), since(2)]).toEqual([false, false]);
  repair(connection);
  expect([since(0), since(2)]).toEqual([true, false]);
  expect(Object.assign(connection, { authenticatedAt: null }).isAuthenticated()).toBe(false);
});

it.each([1, 2, 3, 5, 20])('a connection that was lost after %i bytes of a response starts without them', async (bytes) => {
  server.once('connection', (socket) => socket.end(Buffer.alloc(bytes, 1)));
  const connection = openConnection();
  await connection.connect();
  await expect.poll(() => [connection.isConnected(), connection.bytesBuffered]).toEqual([false, bytes]);
  server.once('connection', (socket) => socket.on('error', () => undefined));
  await connection.connect();
  expect([connection.bytesBuffered, connection.bytesNeeded, connection.chunks]).toEqual([0, 4, []]);
  connection.socket?.destroy();
});

it.each([0, 3, -1, -2_147_483_648])('a connection that receives a response size of %i is closed, and connects again', async (size) => {
  const answer = Buffer.alloc(8);
  answer.writeInt32BE(size);
  server.once('connection', (socket) => socket.on('error', () => undefined).write(answer));
  const connection = openConnection();
  await connection.connect();
  await expect.poll(() => connection.isConnected()).toBe(false);
  await connection.connect();
  expect(connection.bytesBuffered).toBe(0);
  connection.socket?.destroy();
});

describe('the request queue of a connection', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('is idle when no request waits; kafkajs’s own never is', () => {
    const connection = newConnection(() => new Socket());
    connection.requestQueue.scheduleCheckPendingRequests();
    expect(vi.getTimerCount()).toBe(1);
    vi.clearAllTimers();
    expect(queueOf({})).toMatchObject({ looks: 0 });
    expect(vi.getTimerCount()).toBe(0);
  });

  it('still checks waiting requests again, also after throttling', () => {
    const waiting = queueOf({ pending: ['request'] });
    waiting.scheduleCheckPendingRequests();
    vi.advanceTimersByTime(10);
    expect(waiting.looks).toBe(1);
    const throttled = queueOf({ pending: ['request'], throttledUntil: Date.now() + 500 });
    vi.advanceTimersByTime(499);
    expect(throttled.looks).toBe(0);
    vi.advanceTimersByTime(1);
    expect(throttled.looks).toBe(1);
  });
});

/** Returns a connection's repaired queue in this state, with its next check scheduled. `looks` counts the checks. */
function queueOf(state: Partial<RequestQueue>): RequestQueue & { looks: number } {
  const connection = newConnection(() => new Socket());
  repair(connection);
  const queue = Object.assign(connection.requestQueue, { looks: 0, checkPendingRequests: () => void queue.looks++, ...state });
  queue.scheduleCheckPendingRequests();
  return queue;
}

function openConnection(): ReturnType<typeof newConnection> {
  const { port } = server.address() as AddressInfo;
  const connection = newConnection(({ host, onConnect }) => connect(port, host, onConnect));
  repair(connection);
  return connection;
}

async function socketsOfTwoConnects(mend: (connection: KafkajsConnection) => void): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const connection = newConnection(({ host, onConnect }) => {
    sockets.push(connect(port, host, onConnect));
    return sockets.at(-1) as Socket;
  });
  mend(connection);
  await Promise.all([connection.connect(), connection.connect()]);
  await connection.disconnect();
  for (const socket of sockets) socket.destroy();
  return sockets.length;
}

function newConnection(socketFactory: ISocketFactory): InstanceType<typeof Connection> {
  const quiet = { namespace: () => quiet, debug: () => undefined, error: () => undefined };
  return new Connection({ host: '127.0.0.1', port: 0, logger: quiet, socketFactory, requestTimeout: 1_000, connectionTimeout: 1_000 });
}
