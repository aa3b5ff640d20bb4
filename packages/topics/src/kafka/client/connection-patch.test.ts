import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, Socket, connect, createServer } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { patchConnection } from './connection-patch.ts';
import type { KafkajsConnection } from './kafkajs-internals.ts';

const require = createRequire(import.meta.url);
const Connection = require('kafkajs/src/network/connection') as {
  new (options: object): KafkajsConnection & { disconnect(): Promise<unknown> };
  readonly prototype: KafkajsConnection;
};
const Long = require('kafkajs/src/utils/long') as { fromValue(value: number): object };
const METHODS = ['connect', 'isAuthenticated', 'processData'] as const;
const originals = METHODS.map((name) => [name, Object.getOwnPropertyDescriptor(Connection.prototype, name) ?? {}] as const);
const server = createServer();
beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
  for (const [name, original] of originals) Object.defineProperty(Connection.prototype, name, original);
});

it('is mended once, and has one socket then, however often it is to connect meanwhile; as delivered it forgets some', async () => {
  expect(await socketsOfTwoConnects()).toBe(2);
  patchConnection();
  expect(await socketsOfTwoConnects()).toBe(1);
  patchConnection();
  expect(await socketsOfTwoConnects()).toBe(1);
});

it('connects again after it has failed', async () => {
  patchConnection();
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const connection = newConnection(({ host, onConnect }) => {
    sockets.push(connect(sockets.length === 0 ? 1 : port, host, onConnect));
    return sockets.at(-1) as Socket;
  });
  await expect(connection.connect()).rejects.toThrow(/ECONNREFUSED/u);
  await connection.connect();
  for (const socket of sockets) socket.destroy();
});

it('that has just authenticated does not do so again, however short its session is; as delivered it does before each request', () => {
  // kafkajs counts with its own numbers: a session of which nothing is left.
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
  patchConnection();
  expect([since(0), since(2)]).toEqual([true, false]);
  expect(Object.assign(connection, { authenticatedAt: null }).isAuthenticated()).toBe(false);
});

it.each([1, 2, 3, 5, 20])('that was lost after %i bytes of an answer begins without them', async (bytes) => {
  patchConnection();
  server.once('connection', (socket) => socket.end(Buffer.alloc(bytes, 1)));
  const connection = openConnection();
  await connection.connect();
  await expect.poll(() => [connection.isConnected(), connection.bytesBuffered]).toEqual([false, bytes]);
  server.once('connection', (socket) => socket.on('error', () => undefined));
  await connection.connect();
  expect([connection.bytesBuffered, connection.bytesNeeded, connection.chunks]).toEqual([0, 4, []]);
  connection.socket?.destroy();
});

it.each([0, 3, -1, -2_147_483_648])('that is told of an answer of %i bytes is closed, and connects again', async (size) => {
  patchConnection();
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

function openConnection(): ReturnType<typeof newConnection> {
  const { port } = server.address() as AddressInfo;
  return newConnection(({ host, onConnect }) => connect(port, host, onConnect));
}

async function socketsOfTwoConnects(): Promise<number> {
  const { port } = server.address() as AddressInfo;
  const sockets: Socket[] = [];
  const connection = newConnection(({ host, onConnect }) => {
    sockets.push(connect(port, host, onConnect));
    return sockets.at(-1) as Socket;
  });
  await Promise.all([connection.connect(), connection.connect()]);
  await connection.disconnect();
  for (const socket of sockets) socket.destroy();
  return sockets.length;
}

function newConnection(socketFactory: ISocketFactory): InstanceType<typeof Connection> {
  const quiet = { namespace: () => quiet, debug: () => undefined, error: () => undefined };
  return new Connection({ host: '127.0.0.1', port: 0, logger: quiet, socketFactory, requestTimeout: 1_000, connectionTimeout: 1_000 });
}
