import { type Connections, MAX_HEADER_BYTES } from './connections.ts';
import type { Unanswered } from './exchange.ts';

/** The events of an exchange up to its end without a response. */
export interface Seen {
  /** The request was sent. */
  readonly isSent: boolean;
  /** On a connection that an earlier request had used. */
  readonly isReused: boolean;
  /** A byte of a response arrived. */
  readonly hasBegun: boolean;
  /** Status of the response, if its headers arrived. */
  readonly status: number | undefined;
}

/** Returns how an exchange ended that has seen this much. */
export function unanswered(reason: string, { isSent, hasBegun, status }: Seen, isStale = false): Unanswered {
  if (hasBegun) return { kind: 'unreadable', reason, status };
  return isSent ? { kind: 'lost', reason, isStale } : { kind: 'unreached', reason };
}

/**
 * Returns how an exchange ended, by undici's error. The reason may quote the error. `host`: host and port of the service.
 */
export function connectionFailure(error: unknown, host: string, { proxy, way }: Connections, seen: Seen): Unanswered {
  const { code, message } = rootOf(error);
  const via = proxy === undefined ? 'the proxy' : `the proxy ${proxy}`;
  const refusal = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    const cure = refusal === '407' ? '. Check the user and password in its address' : '';
    return unanswered(`${via} refuses requests to ${host} (${refusal})${cure}`, seen);
  }
  if (code === 'UND_ERR_PRX_CONN') return unanswered(`${via} closes connections to ${host}`, seen);
  // A mock that doesn't know the request now won't know it later, either.
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' || code.startsWith('UND_MOCK_ERR'))
    return { kind: 'invalid', reason: `the request can't be sent: ${message}` };
  const { isSent, isReused, hasBegun, status } = seen;
  if (!isSent) return { kind: 'unreached', reason: `cannot connect to ${host}${way}: ${CONNECTING[code] ?? messageOr(code, message)}` };
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return { kind: 'unreadable', reason: `the response headers exceed the limit of ${MAX_HEADER_BYTES / 1024} KiB`, status };
  // The parser's message quotes nothing of the response.
  if (code !== 'HPE_INVALID_EOF_STATE' && (code.startsWith('HPE_') || message.startsWith('Response does not match')))
    return { kind: 'unreadable', reason: `${host} sent something that isn't an HTTP response (${message})`, status };
  // undici's words for a 100 that it didn't ask for.
  if (message === 'bad response') return unanswered(`${host} sent "100 Continue", which the request doesn't ask for`, seen);
  const words = LOST[code] ?? messageOr(code, message);
  const reason = hasBegun ? `the response broke off (${words})` : `the connection was lost before a response arrived (${words})`;
  return unanswered(reason, seen, code in LOST && isReused);
}

const CONNECTING: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'connection refused',
  ECONNRESET: 'connection reset',
  EHOSTUNREACH: 'host unreachable',
  ENETUNREACH: 'network unreachable',
  ENOTFOUND: 'no such host name',
  EAI_AGAIN: 'name lookup failed temporarily',
  ETIMEDOUT: 'timed out',
  UND_ERR_CONNECT_TIMEOUT: 'timed out',
};

const LOST: Readonly<Record<string, string>> = {
  ECONNRESET: 'reset',
  ECONNABORTED: 'aborted',
  EPIPE: 'closed by the other side',
  ETIMEDOUT: 'timed out',
  HPE_INVALID_EOF_STATE: 'closed by the other side',
  UND_ERR_SOCKET: 'closed by the other side',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'closed by the other side',
};

/** Returns the code and message of an error. If several addresses were tried, those of the last one. */
function rootOf(error: unknown): { readonly code: string; readonly message: string } {
  const root: unknown = error instanceof AggregateError ? (error.errors.at(-1) ?? error) : error;
  if (!(root instanceof Error)) return { code: '', message: String(root) };
  return { code: 'code' in root && typeof root.code === 'string' ? root.code : '', message: root.message };
}

function messageOr(code: string, message: string): string {
  return message === '' ? code || 'unknown reason' : message;
}
