import { MAX_HEADER_BYTES, ProxyUnreachableError } from './connections.ts';

export interface ConnectionFailureOptions {
  readonly error: unknown;
  /** Host and port of the service. */
  readonly host: string;
  /** Host and port of the proxy for the service, if Headgate knows it. */
  readonly proxy: string | undefined;
  readonly sent: boolean;
  /** True if the beginning of a response had arrived. */
  readonly begun: boolean;
}

export interface ConnectionFailure {
  /** A description of the cause. It may quote the error. */
  readonly reason: string;
  /** True if an established connection was lost. */
  readonly lost: boolean;
  /** True if any byte of a response had arrived, even one that isn't HTTP. */
  readonly begun: boolean;
  /** True if the request itself can't be sent. */
  readonly invalid: boolean;
}

/** Describes why an exchange got no response, or only a part of one. */
export function connectionFailure({ error, host, proxy, sent, begun }: ConnectionFailureOptions): ConnectionFailure {
  if (error instanceof ProxyUnreachableError) {
    const { code, message } = rootOf(error.cause);
    return {
      reason: `cannot connect to the proxy ${error.proxy}: ${CONNECTING[code] ?? messageOr(code, message)}`,
      lost: false,
      begun: false,
      invalid: false,
    };
  }
  const { code, message } = rootOf(error);
  const failure = (reason: string, how: Partial<ConnectionFailure> = {}): ConnectionFailure => ({
    reason,
    lost: false,
    begun,
    invalid: false,
    ...how,
  });
  const via = proxy === undefined ? 'the proxy' : `the proxy ${proxy}`;
  const refusal = /^Proxy (?:response|Authentication Required) \((\d+)\)/.exec(message)?.[1];
  if (refusal !== undefined) {
    return failure(
      `${via} refuses requests to ${host} (${refusal})${refusal === '407' ? '. Check the user and password in its address' : ''}`,
    );
  }
  if (code === 'UND_ERR_PRX_CONN') return failure(`${via} closes connections to ${host}`);
  // A mock that doesn't know the request now won't know it later, either.
  if (code === 'UND_ERR_INVALID_ARG' || code === 'UND_ERR_REQ_CONTENT_LENGTH_MISMATCH' || code.startsWith('UND_MOCK_ERR'))
    return failure(`the request can't be sent: ${message}`, { invalid: true });
  if (!sent) return failure(`cannot connect to ${host}: ${CONNECTING[code] ?? messageOr(code, message)}`);
  if (code === 'UND_ERR_HEADERS_OVERFLOW')
    return failure(`the response headers exceed the limit of ${MAX_HEADER_BYTES / 1024} KiB`, { begun: true });
  // The parser's message quotes nothing of the response.
  if (code !== 'HPE_INVALID_EOF_STATE' && (code.startsWith('HPE_') || message.startsWith('Response does not match')))
    return failure(`${host} sent something that isn't an HTTP response (${message})`, { begun: true });
  // undici's words for a 100 that it didn't ask for.
  if (message === 'bad response') return failure(`${host} sent "100 Continue", which the request doesn't ask for`);
  const words = LOST[code] ?? messageOr(code, message);
  return failure(begun ? `the response broke off (${words})` : `the connection was lost before a response arrived (${words})`, {
    lost: code in LOST,
  });
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
