import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';
import type { Server } from 'node:net';

/**
 * The range lies below the ports that most systems assign to outgoing connections. Such a connection could take a node's port while the
 * node is down.
 */
const lowest = 20_000;
const above = 32_000;

/** Returns different ports of 127.0.0.1 on which nothing listens at the moment. */
export async function freePorts(count: number): Promise<readonly number[]> {
  const held = new Map<number, Server>();
  try {
    while (held.size < count) {
      const port = randomInt(lowest, above);
      const server = await listenOn(port);
      if (server !== undefined) held.set(port, server);
    }
    return [...held.keys()];
  } finally {
    await Promise.all([...held.values()].map(async (server) => new Promise((resolve) => server.close(resolve))));
  }
}

/** Returns whether a server can listen on the port of 127.0.0.1 now. */
export async function isPortFree(port: number): Promise<boolean> {
  const server = await listenOn(port);
  await new Promise((resolve) => (server === undefined ? resolve(undefined) : server.close(resolve)));
  return server !== undefined;
}

async function listenOn(port: number): Promise<Server | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    server.listen(port, '127.0.0.1', () => resolve(server));
  });
}
