import { onAbort } from '@headgate/throttle/internal';
import type { Dispatcher } from 'undici';
import type { CheckedOptions } from '../checked-options.ts';
import { connectionFailure } from './connection-failure.ts';
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
    const breakOff = (how: () => void): void => {
      settle(how);
      controller?.abort(new Error('given up'));
    };
    const unanswered = (reason: string, isStale = false): Unanswered => {
      if (begun) return { kind: 'unreadable', reason, status };
      return controller === undefined ? { kind: 'unreached', reason } : { kind: 'lost', reason, isStale };
    };
    const failed = (reason: string, isStale?: boolean): void => breakOff(() => resolve(unanswered(reason, isStale)));
    const cancelTimer = clock.schedule(timeoutMs, () => {
      const seen =
        controller === undefined
          ? `cannot connect to ${hostOf(origin)}${connections.way}: timed out`
          : begun
            ? "the response wasn't complete"
            : 'no response arrived';
      failed(`${seen} within ${timeoutMs.toLocaleString('en-US')} ms (timeout)`);
    });
    const forget = onAbort(signal, (reason) => breakOff(() => reject(reason)));
    const connectionFailed = (error: unknown): void => {
      const { reason, shows } = connectionFailure(error, hostOf(origin), connections, controller !== undefined, begun);
      if (shows === 'response') begun = true;
      if (shows === 'invalid request') breakOff(() => resolve({ kind: 'invalid', reason }));
      else failed(reason, shows === 'lost connection' && reused);
    };

    const handler: Dispatcher.DispatchHandler = {
      onRequestStart(given, context: ConnectionContext | null) {
        controller = given;
        if (settled) {
          // The exchange ended while connecting: no byte is sent.
          given.abort(new Error('given up'));
          return;
        }
        reused = context?.reused === true;
        if (!onSent()) breakOff(() => resolve({ kind: 'lapsed' }));
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
        onHead({ status: code, headers });
        if (method !== 'HEAD' && Number(headers['content-length']) > maxBodyBytes) failed(oversizeReason(maxBodyBytes));
      },
      onResponseData(_, chunk) {
        if (settled) return;
        bytes += chunk.length;
        if (bytes > maxBodyBytes) failed(oversizeReason(maxBodyBytes));
        else chunks.push(chunk);
      },
      onResponseEnd() {
        if (settled || status === undefined) return;
        const answered = status;
        const [only = Buffer.alloc(0)] = chunks;
        const raw = chunks.length > 1 ? Buffer.concat(chunks, bytes) : only;
        const ended = (body: Buffer): void => settle(() => resolve({ kind: 'response', response: { status: answered, headers, body } }));
        const decoded = decodedBody(raw, headers['content-encoding'], maxBodyBytes);
        if (decoded instanceof Promise) decoded.then(ended, ({ message }: Error) => settle(() => resolve(unanswered(message))));
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
