import { listenFree } from './listen-free.ts';
import { type StatusAnswersOptions, statusAnswers } from './status-answers.ts';

export interface StatusServerOptions extends Omit<StatusAnswersOptions, 'names'> {
  /** Port to listen on. If it is in use, the server takes the first free one of the 19 ports after it. With 0, it takes any free port. */
  readonly port: number;
  readonly host: string;
  /** More accepted names in the Host header, in lowercase, besides `host`, `localhost` and IP addresses. Default: none. */
  readonly names?: readonly string[];
}

export interface StatusServer {
  /** Address of the page, with the port in use. */
  readonly url: string;
  readonly port: number;
  /** Stops when open pages have had the time to look once more, and cuts the connections that remain. */
  close(): Promise<void>;
}

/** Serves the state of a run on its own port. Throws a `StatusPortError` if it can't listen. */
export async function startStatusServer({ host, port: wanted, names = [], ...shown }: StatusServerOptions): Promise<StatusServer> {
  const answers = statusAnswers({ ...shown, names: [host.toLowerCase(), ...names] });
  // Importing node:http would read all of its exports, some of which load Node's own undici.
  const { createServer } = process.getBuiltinModule('node:http');
  const limits = { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000 };
  const server = createServer(limits, (request, response) => answers.answer(request, response));
  const port = await listenFree(server, host, wanted);

  return {
    url: `http://${reachable(host)}:${port}/`,
    port,
    async close() {
      await answers.close();
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The host to show in the URL. For a host that means "all interfaces", this is the loopback address. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
