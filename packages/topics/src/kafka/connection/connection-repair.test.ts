import { once } from 'node:events';
import { createRequire } from 'node:module';
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';
import type { ISocketFactory } from 'kafkajs';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type InnerConnection, repairConnection } from './connection-repair.ts';

const require = createRequire(import.meta.url);
const Connection = require('kafkajs/src/network/connection') as {
  new (options: object): InnerConnection & { disconnect(): Promise<unknown> };
  readonly prototype: InnerConnection;
};
const original = Object.getOwnPropertyDescriptor(Connection.prototype, 'connect') ?? {};
const server = createServer();
beforeEach(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
});
afterEach(() => {
  server.close();
  Object.defineProperty(Connection.prototype, 'connect', original);
});

it('is mended once, and has one socket then, however often it is to connect meanwhile; as delivered it forgets some', async () => {
  expect(await socketsOfTwoConnects()).toBe(2);
  expect(repairConnection()).toBe(true);
  expect(await socketsOfTwoConnects()).toBe(1);
  expect(repairConnection()).toBe(true);
  expect(await socketsOfTwoConnects()).toBe(1);
});

it('connects again after it has failed', async () => {
  repairConnection();
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

it('is left alone when the method is another', () => {
  const other = (): Promise<void> => Promise.resolve();
  Connection.prototype.connect = other;
  expect(repairConnection()).toBe(false);
  expect(Reflect.get(Connection.prototype, 'connect')).toBe(other);
});

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
