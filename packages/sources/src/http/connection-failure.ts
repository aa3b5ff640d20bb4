import { type Connections, MAX_HEADER_BYTES } from './connections.ts';

export interface ConnectionFailure {
  /** A description of the cause. It may quote the error. */
  readonly reason: string;
  /**
   * Shown by the error, too: an established connection was lost, a byte of a response had arrived, even one that isn't HTTP, or the request
   * itself can't be sent.
   */
  readonly shows?: 'lost connection' | 'response' | 'invalid request';
}

/**
 * Describes why an exchange got no response, or only a part of one. `host`: host and port of the service. `begun`: true if the beginning of a response had arrived.
 */
export function connectionFailure(
  error: unknown,
  host: string,
  { proxy, way }: Connections,
  sent: boolean,
  begun: boolean,
): ConnectionFailure {
  const { code, message } = rootOf(error);
  const via = proxy === undefined ? 'the proxy' : `the proxy ${proxy}`;
  const refusal = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    const cure = refusal === '407' ? '. Check the user and password in its address' : '';
    return { reason: `${via} refuses requests to ${host} (${refusal})${cure}` };
  }
  if (code === 'UND_ERR_PRX_CONN') return { reason: `${via} closes connections to ${host}` };
  // A mock that doesn't know the request now won't know it later, either.
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' || code.startsWith('UND_MOCK_ERR'))
    return { reason: `the request can't be sent: ${message}`, shows: 'invalid request' };
  if (!sent) return { reason: `cannot connect to ${host}${way}: ${CONNECTING[code] ?? messageOr(code, message)}` };
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return { reason: `the response headers exceed the limit of ${MAX_HEADER_BYTES / 1024} KiB`, shows: 'response' };
  // The parser's message quotes nothing of the response.
  if (code !== 'HPE_INVALID_EOF_STATE' && (code.startsWith('HPE_') || message.startsWith('Response does not match')))
    return { reason: `${host} sent something that isn't an HTTP response (${message})`, shows: 'response' };
  // undici's words for a 100 that it didn't ask for.
  if (message === 'bad response') return { reason: `${host} sent "100 Continue", which the request doesn't ask for` };
  const words = LOST[code] ?? messageOr(code, message);
  const reason = begun ? `the response broke off (${words})` : `the connection was lost before a response arrived (${words})`;
  return { reason, ...(code in LOST && { shows: 'lost connection' as const }) };
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
