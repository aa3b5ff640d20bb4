import { onAbort } from '@headgate/throttle/internal';
import type { Dispatcher } from 'undici';
import type { CheckedOptions } from '../checked-options.ts';
import { connectionFailure, type Seen, unanswered } from './connection-failure.ts';
import type { Connections, ConnectionContext } from './connections.ts';
import { type HttpResponse, decodedBody, oversizeReason } from './response.ts';
import type { WireRequest } from './wire-request.ts';

/** How an exchange ended. A reason can follow a subject. */
export type Exchanged = { readonly kind: 'response'; readonly response: HttpResponse } | Unanswered;

/** The end of an exchange without a response that can be read. */
export type Unanswered =
  /** Nothing was sent, because the permit was void. */
  | { readonly kind: 'lapsed' }
  /** Nothing was sent, because the request itself is invalid. */
  | { readonly kind: 'invalid'; readonly reason: string }
  /** Nothing was sent, because there was no connection. */
  | { readonly kind: 'unreached'; readonly reason: string }
  /** The request was sent, and no byte of a response came. `isStale`: on a kept-alive connection, which probably died while idle. */
  | { readonly kind: 'lost'; readonly reason: string; readonly isStale: boolean }
  /** A response came that is incomplete, or isn't HTTP. `status`: of the response, if its headers arrived. */
  | { readonly kind: 'unreadable'; readonly reason: string; readonly status: number | undefined };

/**
 * Sends one request and reads its whole response, within `timeoutMs` and `maxBodyBytes`. Rejects with the signal's reason. `onSent`: called
 * right before the first byte is sent; returns false if the request must not be sent, because its permit is void. `onHead`: called with the
 * status and the headers, before the body arrives.
 */
export function exchange(
  connections: Connections,
  request: WireRequest,
  { clock, origin, timeoutMs, maxBodyBytes }: Pick<CheckedOptions, 'clock' | 'origin' | 'timeoutMs' | 'maxBodyBytes'>,
  signal: AbortSignal,
  onSent: () => boolean,
  onHead: (head: Omit<HttpResponse, 'body'>) => void,
): Promise<Exchanged> {
  const { method, path, body } = request;
  const { host } = new URL(origin);
  return new Promise((resolve, reject) => {
    if (signal.aborted) {
      reject(signal.reason as Error);
      return;
    }
    const chunks: Buffer[] = [];
    let controller: Dispatcher.DispatchController | undefined;
    let headers: Readonly<Record<string, string>> = {};
    let status: number | undefined;
    let bytes = 0;
    let isReused = false;
    let hasBegun = false;
    let settled = false;

    const settle = (how: () => void): void => {
      if (settled) return;
      settled = true;
      cancelTimer();
      forget();
      how();
    };
    const breakOff = (how: () => void): void => {
      settle(how);
      controller?.abort(new Error('given up'));
    };
    const seen = (): Seen => ({ isSent: controller !== undefined, isReused, hasBegun, status });
    const failed = (how: Unanswered): void => breakOff(() => resolve(how));
    const cancelTimer = clock.schedule(timeoutMs, () => {
      const until = `within ${timeoutMs.toLocaleString('en-US')} ms (timeout)`;
      const { isSent } = seen();
      const what = hasBegun ? "the response wasn't complete" : 'no response arrived';
      failed(unanswered(`${isSent ? what : `cannot connect to ${host}${connections.way}: timed out`} ${until}`, seen()));
    });
    const forget = onAbort(signal, (reason) => breakOff(() => reject(reason)));
    const connectionFailed = (error: unknown): void => failed(connectionFailure(error, host, connections, seen()));

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given, context: ConnectionContext | null) {
        controller = given;
        if (settled) {
          // The exchange ended while connecting: no byte is sent.
          given.abort(new Error('given up'));
          return;
        }
        isReused = context?.reused === true;
        if (!onSent()) failed({ kind: 'lapsed' });
      },
      onResponseStarted() {
        hasBegun = true;
      },
      onResponseStart(_, code, given) {
        if (settled) return;
        hasBegun = true;
        // Skips an interim response (RFC 9110, section 15.2), because the service may count the request after it.
        if (code < 200) return;
        status = code;
        headers = joined(given);
        onHead({ status: code, headers });
        if (method !== 'HEAD' && Number(headers['content-length']) > maxBodyBytes) failed(unanswered(oversizeReason(maxBodyBytes), seen()));
      },
      onResponseData(_, chunk) {
        if (settled) return;
        bytes += chunk.length;
        if (bytes > maxBodyBytes) failed(unanswered(oversizeReason(maxBodyBytes), seen()));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (settled || status === undefined) return;
        const answered = status;
        const [only = Buffer.alloc(0)] = chunks;
        const raw = chunks.length > 1 ? Buffer.concat(chunks, bytes) : only;
        const ended = (body: Buffer): void => settle(() => resolve({ kind: 'response', response: { status: answered, headers, body } }));
        const decoded = decodedBody(raw, headers['content-encoding'], maxBodyBytes);
        if (decoded instanceof Promise) decoded.then(ended, ({ message }: Error) => settle(() => resolve(unanswered(message, seen()))));
        else ended(decoded);
      },
      onResponseError(_, error) {
        // undici reports a proxy's 407 here while the response is still arriving, so the request must be aborted.
        if (!settled) connectionFailed(error);
      },
    };
    const started = async (): Promise<void> =>
      await connections.dispatch({ origin, method, path, headers: { ...request.headers }, ...(body !== undefined && { body }) }, handler);
    // The dispatcher, which may be the caller's own, threw.
    started().catch(connectionFailed);
  });
}

function joined(headers: Readonly<Record<string, string | readonly string[] | undefined>>): Readonly<Record<string, string>> {
  const flat: Record<string, string> = {};
  for (const name of Object.keys(headers)) {
    const value = headers[name];
    if (value !== undefined) flat[name] = typeof value === 'string' ? value : value.join(', ');
  }
  return flat;
}
