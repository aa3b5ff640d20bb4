import { getCACertificates } from 'node:tls';
import { Agent, type Dispatcher, EnvHttpProxyAgent, Pool, ProxyAgent } from 'undici';
import { ReuseAwareClient } from './reuse-aware-client.ts';

export interface ConnectionsOptions {
  /** A proxy's address; '' for none. Default: what `env` says. */
  readonly proxy?: string;
  /** Holds HTTPS_PROXY, HTTP_PROXY and NO_PROXY, in either case. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** PEM text, trusted in addition to the usual authorities. */
  readonly ca?: string;
  /** For one connection to come about. */
  readonly connectTimeoutMs: number;
}

/** The kept-alive connections of one source. */
export interface Connections {
  /** Starts a request on an idle connection, or on a new one. */
  dispatch(options: Dispatcher.DispatchOptions & { readonly origin: string }, handler: Dispatcher.DispatchHandler): void;
  /** Breaks everything off. */
  close(): Promise<void>;
}

/** Most bytes of an answer's headers. */
const MAX_HEADER_BYTES = 16 * 1024;

export function connections(options: ConnectionsOptions): Connections {
  const dispatcher = makeDispatcher(options);
  return {
    dispatch(request, handler) {
      dispatcher.dispatch(request, handler);
    },
    close: () => dispatcher.destroy(),
  };
}

function makeDispatcher({ proxy, env, ca, connectTimeoutMs }: ConnectionsOptions): Dispatcher {
  const tls = { allowH2: false, timeout: connectTimeoutMs, ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }) };
  // Time is kept by the source's own clock, over the whole try: undici's timers are off.
  const client = { allowH2: false, pipelining: 1, maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 0, bodyTimeout: 0 };
  const agent: Agent.Options = {
    ...client,
    connect: tls,
    connectTimeout: connectTimeoutMs,
    // A proxy agent hands some of its pools no more than `connect`: so the client's options are named again here.
    factory: (origin, given: object) =>
      new Pool(origin, { ...given, ...client, factory: (url, options) => new ReuseAwareClient(url, { ...options, ...client }) }),
  };
  const proxied = { ...agent, requestTls: tls, proxyTls: tls };
  if (proxy !== undefined) return proxy === '' ? new Agent(agent) : new ProxyAgent({ ...proxied, uri: proxy });
  // As undici reads them: lower case wins, and an https address falls back to HTTP_PROXY.
  const httpProxy = env['http_proxy'] ?? env['HTTP_PROXY'] ?? '';
  const httpsProxy = env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '';
  if (httpProxy === '' && httpsProxy === '') return new Agent(agent);
  return new EnvHttpProxyAgent({ ...proxied, httpProxy, httpsProxy, noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '' });
}
