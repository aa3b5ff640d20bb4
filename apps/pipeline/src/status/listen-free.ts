import { once } from 'node:events';
import type { Server } from 'node:http';

const TRIES = 20;
const LAST_PORT = 65_535;

/**
 * Lets a server listen on the requested port or, if that is in use, on the first free one of the next 19; returns the port. Throws a
 * `StatusPortError` if none is free or the address can't be used.
 */
export async function listenFree(server: Server, host: string, port: number): Promise<number> {
  const last = port === 0 ? 0 : Math.min(LAST_PORT, port + TRIES - 1);
  for (let next = port; next <= last; next += 1) {
    try {
      await once(server.listen({ host, port: next, exclusive: true }), 'listening');
      const address = server.address();
      return typeof address === 'object' && address !== null ? address.port : next;
    } catch (cause) {
      const { code, message } = cause as NodeJS.ErrnoException;
      if (code !== 'EADDRINUSE') throw new StatusPortError(`${host}:${next} can't be used (${code ?? message})`, cause);
    }
  }
  throw new StatusPortError(`port ${port} on ${host} and those after it are in use`);
}

/** Thrown if the status server can't listen. `why`: the reason, as a sentence without its period. */
class StatusPortError extends Error {
  override readonly name = 'StatusPortError';
  readonly code = 'HEADGATE_STATUS_PORT';
  readonly retryable: boolean = false;

  constructor(why: string, cause?: unknown) {
    super(`The status page has no port: ${why}. Set status.port and status.host to free ones, or status: false.`, { cause });
  }
}
