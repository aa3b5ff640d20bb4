import { listenFree } from './listen-free.ts';
import { type StatusAnswersOptions, statusAnswers } from './status-answers.ts';

export interface StatusServerOptions extends Omit<StatusAnswersOptions, 'names'> {
  /** Where to listen; a busy port gives way to the next free one, at most 19 further; 0 takes any. */
  readonly port: number;
  readonly host: string;
  /** Names it is asked by besides `host`, `localhost` and addresses, in lower case. Default none. */
  readonly names?: readonly string[];
}

export interface StatusServer {
  /** Where to look, with the port that was free. */
  readonly url: string;
  readonly port: number;
  /** Stops listening, tells the pages that look how the run stands at its end, and cuts what is still connected then. */
  close(): Promise<void>;
}

/** Serves how a run stands on a port of its own. Throws StatusPortError where no port is free. */
export async function startStatusServer({ host, port: wanted, names = [], ...shown }: StatusServerOptions): Promise<StatusServer> {
  const answers = statusAnswers({ ...shown, names: [host.toLowerCase(), ...names] });
  // An import would read every export of node:http, of which some load Node's own undici: 60 ms and 10 MB.
  const { createServer } = process.getBuiltinModule('node:http');
  const limits = { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 5_000 };
  const server = createServer(limits, (request, response) => answers.answer(request, response));
  const port = await listenFree({ server, host, port: wanted });

  return {
    url: `http://${reachable(host)}:${port}/`,
    port,
    async close() {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      await answers.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** An address to type for a host that means "all of them". */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '') return '127.0.0.1';
  if (host === '::') return '[::1]';
  return host.includes(':') ? `[${host}]` : host;
}
