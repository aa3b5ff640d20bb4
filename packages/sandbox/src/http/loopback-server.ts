import { createServer } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage, Server, ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Answer } from './answer.ts';
import { jsonAnswer } from './answer.ts';
import { deliver, deliveredStatus } from './delivery.ts';
import { planFaults } from './fault.ts';
import type { Fault, FaultName } from './fault.ts';
import { readBody } from './request-body.ts';
import { createRequestLog, shownQuery } from './request-log.ts';
import type { ServedRequest } from './request-log.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

export interface Exchange {
  readonly method: string;
  /** Path as received, percent-encoded. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Absolute URL, with the query as received. */
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** Index of the listener that received the request, from 0. */
  readonly listener: number;
  /** Epoch milliseconds at which the service counts the request. */
  readonly nowMs: number;
  /** `nowMs` by the service's own clock, which a fault can change. */
  readonly serverNowMs: number;
  readonly fault: Fault | undefined;
}

export interface Served {
  readonly answer: Answer;
  /**
   * True if the service itself refused the request, for example because of a limit or a credential. Then no fault is applied, except
   * `clock-skew`.
   */
  readonly refused: boolean;
  readonly seen: Pick<ServedRequest, 'credential' | 'cursor' | 'user' | 'isbns' | 'author'>;
}

export interface LoopbackOptions {
  /** The ports of the listeners; 0 takes a free port. */
  readonly ports: readonly number[];
  readonly serve: (exchange: Exchange) => Served;
  readonly faults: readonly Fault[];
  /** Faults that this service doesn't support; default none. */
  readonly refusedFaults?: readonly FaultName[];
  /** Returns the milliseconds before the service counts a request, and after that. */
  readonly latency: () => { readonly beforeMs: number; readonly afterMs: number };
  readonly now: () => number;
}

export interface Loopback {
  readonly urls: readonly string[];
  readonly requests: () => readonly ServedRequest[];
  /** Replaces the faults, counted from the next request on. */
  readonly setFaults: (faults: readonly Fault[]) => void;
  readonly close: () => Promise<void>;
}

const maxBodyBytes = 10 * 1024 * 1024;

/**
 * Starts listeners on 127.0.0.1 that share one service, one count of requests and one log. Throws `SandboxOptionError` for an invalid fault, or for
 * a port that is invalid or in use.
 */
export async function startLoopback(options: LoopbackOptions): Promise<Loopback> {
  const { serve, refusedFaults, latency, now } = options;
  const log = createRequestLog();
  const closing = new AbortController();
  let numbered = 0;
  let faultAt = planFaults(options.faults, refusedFaults);

  const wait = async (ms: number): Promise<void> => {
    if (ms > 0) await sleep(ms, undefined, { signal: closing.signal });
  };

  const handle = async (request: IncomingMessage, response: ServerResponse, listener: number): Promise<void> => {
    const body = await readBody(request, maxBodyBytes);
    numbered += 1;
    const number = numbered;
    const fault = faultAt(number);
    const { beforeMs, afterMs } = latency();
    await wait(beforeMs);
    const [path = '/', ...queries] = (request.url ?? '/').split('?');
    const nowMs = now();
    const skewMs = fault?.name === 'clock-skew' ? (fault.minutes ?? 20) * 60_000 : 0;
    const exchange: Exchange = {
      method: request.method ?? 'GET',
      path,
      query: new URLSearchParams(queries.join('?')),
      url: `http://${request.headers.host ?? '127.0.0.1'}${request.url ?? '/'}`,
      headers: request.headers,
      body: body ?? '',
      listener,
      nowMs,
      serverNowMs: nowMs + skewMs,
      fault,
    };
    const { answer, refused, seen }: Served =
      body === undefined ? { answer: jsonAnswer(413, '{"message":"Payload Too Large"}'), refused: true, seen: {} } : serve(exchange);
    const applied = refused && fault?.name !== 'clock-skew' ? undefined : fault;
    log.add({
      number,
      at: nowMs,
      method: exchange.method,
      path,
      query: shownQuery(exchange.query),
      status: deliveredStatus(answer, applied),
      ...(applied === undefined ? {} : { fault: applied.name }),
      ...seen,
    });
    await wait(afterMs);
    response.setHeader('date', new Date(now() + skewMs).toUTCString());
    deliver(response, answer, applied);
  };

  const servers = options.ports.map((_, listener) =>
    createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
      response.on('error', () => response.destroy());
      handle(request, response, listener).catch((error: unknown) => {
        if (closing.signal.aborted || response.headersSent || response.destroyed) response.destroy();
        else failOpenly(response, error);
      });
    }).on('clientError', (_error, socket) => socket.destroy()),
  );
  const close = async (): Promise<void> => {
    closing.abort();
    await Promise.all(servers.map(closeServer));
  };
  try {
    const urls = await Promise.all(servers.map(async (server, index) => listen(server, options.ports[index] ?? 0)));
    return {
      urls,
      requests: () => log.all(),
      setFaults(faults) {
        const plan = planFaults(faults, refusedFaults);
        const before = numbered;
        faultAt = (number) => plan(number - before);
      },
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function listen(server: Server, port: number): Promise<string> {
  await new Promise<void>((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SandboxOptionError(
          `127.0.0.1:${port} isn't available (${cause.code ?? cause.message}). Give another port, or 0 for a free one.`,
        ),
      );
    });
    server.listen(port, '127.0.0.1', resolve);
  });
  const address = server.address();
  return `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : port}`;
}

async function closeServer(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** Sends an error of the emulator, or of a function passed to it, to the client, so that a test shows it. */
function failOpenly(response: ServerResponse, error: unknown): void {
  response.writeHead(500, { 'content-type': 'text/plain;charset=utf-8' });
  response.end(`The sandbox failed: ${error instanceof Error ? error.message : String(error)}\n`);
}
