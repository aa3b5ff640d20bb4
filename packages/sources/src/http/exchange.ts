import type { Clock } from '@headgate/throttle';
import { onAbort } from '@headgate/throttle/internal';
import type { Dispatcher } from 'undici';
import { connectionFailure } from './connection-failure.ts';
import type { Connections, ConnectionContext } from './connections.ts';
import { type HttpResponse, decodedBody, oversizeReason } from './response.ts';
import type { WireRequest } from './wire-request.ts';

export interface ExchangeOptions {
  readonly connections: Connections;
  readonly clock: Clock;
  /** Scheme, host and port. */
  readonly origin: string;
  readonly method: WireRequest['method'];
  /** Path with the query, as sent. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Maximum time from the call to the last byte of the response, in ms. */
  readonly timeoutMs: number;
  /** Maximum bytes of the response's body, both as received and as decoded. */
  readonly maxBodyBytes: number;
  readonly signal: AbortSignal;
  /** Called right before the first byte is sent. Returns false if the request must not be sent, because its permit is void. */
  readonly onSent: () => boolean;
  /** Called with the status and the headers, before the body arrives. */
  readonly onAnswered: (head: Omit<HttpResponse, 'body'>) => void;
}

/** The error of an exchange without a response, or with an unreadable one. Its message is a reason that can follow a subject. */
export class ExchangeError extends Error {
  /** The status of the response, if its headers arrived. */
  readonly status: number | undefined;
  /** True if any byte of a response had arrived, so the service is up. */
  readonly begun: boolean;
  /** True if a kept-alive connection turned out to be dead. A new one usually works. */
  readonly stale: boolean;
  /** True if the request itself can't be sent. */
  readonly invalid: boolean;
  /** True if no byte of the request was sent, so the request can't be at fault. */
  readonly unsent: boolean;
  /** True if the permit was void before the request could be sent: nothing was sent. */
  readonly lapsed: boolean;

  constructor(
    reason: string,
    {
      status,
      begun = false,
      stale = false,
      invalid = false,
      unsent = false,
      lapsed = false,
    }: Partial<Omit<ExchangeError, keyof Error>> = {},
  ) {
    super(reason);
    this.status = status;
    this.begun = begun;
    this.stale = stale;
    this.invalid = invalid;
    this.unsent = unsent;
    this.lapsed = lapsed;
  }
}

/**
 * Sends one request and reads its whole response, within `timeoutMs` and `maxBodyBytes`. Rejects with an `ExchangeError`, or with
 * `signal.reason`.
 */
export function exchange(options: ExchangeOptions): Promise<HttpResponse> {
  const { clock, origin, timeoutMs, maxBodyBytes, signal } = options;
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const ends = { host: hostOf(origin), proxy: options.connections.proxyOf(origin) };
    const chunks: Buffer[] = [];
    let controller: Dispatcher.DispatchController | undefined;
    let headers: Readonly<Record<string, string>> = {};
    let status: number | undefined;
    let bytes = 0;
    let reused = false;
    let begun = false;
    let settled = false;

    const settle = (how: () => void): void => {
      if (settled) return;
      settled = true;
      cancelTimer();
      forget();
      how();
    };
    const breakOff = (error: Error): void => {
      settle(() => reject(error));
      controller?.abort(new Error('given up'));
    };
    const failed = (reason: string, how: Partial<Pick<ExchangeError, 'begun' | 'stale' | 'invalid'>> = {}): ExchangeError =>
      new ExchangeError(reason, { begun, ...how, status, unsent: controller === undefined });
    const cancelTimer = clock.schedule(timeoutMs, () => {
      const { proxyAwaited } = options.connections;
      const seen =
        controller === undefined
          ? `cannot connect to ${proxyAwaited === undefined ? hostOf(origin) : `the proxy ${proxyAwaited}`}: timed out`
          : begun
            ? "the response wasn't complete"
            : 'no response arrived';
      breakOff(failed(`${seen} within ${timeoutMs.toLocaleString('en-US')} ms (timeout)`));
    });
    const forget = onAbort(signal, (reason) => breakOff(reason as Error));

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given, context: ConnectionContext | null) {
        controller = given;
        if (settled) {
          // The exchange ended while connecting: no byte is sent.
          given.abort(new Error('given up'));
          return;
        }
        reused = context?.reused === true;
        if (!options.onSent()) breakOff(new ExchangeError('its permit is void', { lapsed: true }));
      },
      onResponseStarted() {
        begun = true;
      },
      onResponseStart(_, code, given) {
        if (settled) return;
        begun = true;
        // Skips an interim response (RFC 9110, section 15.2), because the service may count the request after it.
        if (code < 200) return;
        status = code;
        headers = joined(given);
        options.onAnswered({ status: code, headers });
        if (options.method !== 'HEAD' && Number(headers['content-length']) > maxBodyBytes) breakOff(failed(oversizeReason(maxBodyBytes)));
      },
      onResponseData(_, chunk) {
        if (settled) return;
        bytes += chunk.length;
        if (bytes > maxBodyBytes) breakOff(failed(oversizeReason(maxBodyBytes)));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (settled || status === undefined) return;
        const answered = status;
        const [only = Buffer.alloc(0)] = chunks;
        const raw = chunks.length > 1 ? Buffer.concat(chunks, bytes) : only;
        const ended = (body: Buffer): void => settle(() => resolve({ status: answered, headers, body }));
        const decoded = decodedBody({ raw, encoding: headers['content-encoding'], maxBytes: maxBodyBytes });
        if (decoded instanceof Promise) decoded.then(ended, (error: Error) => settle(() => reject(failed(error.message))));
        else ended(decoded);
      },
      onResponseError(_, error) {
        if (settled) return;
        const sent = controller !== undefined;
        const { reason, lost, begun: isBegun, invalid } = connectionFailure({ error, ...ends, sent, begun });
        // undici reports a proxy's 407 here while the response is still arriving, so the request must be aborted.
        breakOff(failed(reason, { begun: isBegun, stale: lost && sent && reused && !isBegun, invalid }));
      },
    };
    const { method, path, body } = options;
    const started = async (): Promise<void> =>
      await options.connections.dispatch(
        { origin, method, path, headers: { ...options.headers }, ...(body !== undefined && { body }) },
        handler,
      );
    started().catch((error: unknown) => {
      // The dispatcher, which may be the caller's own, threw.
      const { reason, invalid } = connectionFailure({ error, ...ends, sent: controller !== undefined, begun });
      breakOff(failed(reason, { invalid }));
    });
  });
}

function hostOf(origin: string): string {
  return new URL(origin).host;
}

function joined(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Readonly<Record<string, string>> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}
