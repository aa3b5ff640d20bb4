import { StatusPortError } from './status-port-error.ts';
import type { Server } from 'node:http';

const tries = 20;
const lastPort = 65_535;

/**
 * Lets a server listen on the port asked for or, where that is busy, on the first free one of the 19 after it; returns which.
 * Throws StatusPortError where none is free or the address can't be used.
 */
export async function listenFree(options: { readonly server: Server; readonly host: string; readonly port: number }): Promise<number> {
  const { server, host, port } = options;
  const last = port === 0 ? 0 : Math.min(lastPort, port + tries - 1);
  for (let next = port; next <= last; next += 1) {
    const problem = await listen(server, host, next);
    if (problem === undefined) {
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : next;
    }
    if (problem.code !== 'EADDRINUSE') throw new StatusPortError({ host, port: next, last: next, cause: problem });
  }
  throw new StatusPortError({ host, port, last });
}

function listen(server: Server, host: string, port: number): Promise<NodeJS.ErrnoException | undefined> {
  return new Promise((resolve) => {
    const settle = (problem?: NodeJS.ErrnoException): void => {
      server.off('error', settle).off('listening', settle);
      resolve(problem);
    };
    server.once('error', settle);
    server.once('listening', settle);
    server.listen({ host, port, exclusive: true });
  });
}
