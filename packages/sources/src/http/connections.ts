import { getCACertificates } from 'node:tls';
import type { Agent, Client, Dispatcher, buildConnector } from 'undici';
import type { CheckedOptions } from '../checked-options.ts';
import { type Dispatch, fetchDispatch } from './fetch-dispatch.ts';

type Options = Pick<CheckedOptions, 'proxy' | 'env' | 'ca' | 'timeoutMs' | 'dispatcher' | 'fetch'>;

/** The kept-alive connections of one source. */
export interface Connections {
  readonly dispatch: Dispatch;
  /** Returns host and port of the proxy that carries requests to an origin, unless NO_PROXY exempts it. */
  proxyOf(origin: string): string | undefined;
  /** Host and port of the proxy to which a connection is being opened, if there is one. */
  readonly proxyAwaited: string | undefined;
  /** Aborts the requests and closes the connections, except those of the caller's dispatcher or `fetch`. */
  close(): Promise<void>;
}

/** The error if the proxy can't be reached. Then nothing is known about the service. */
export class ProxyUnreachableError extends Error {
  override readonly name = 'ProxyUnreachableError';
  /** Host and port of the proxy. */
  readonly proxy: string;

  constructor(proxy: string, cause: Error) {
    super(cause.message, { cause });
    this.proxy = proxy;
  }
}

/** As many as browsers accept. */
export const MAX_HEADER_BYTES: number = 256 * 1024;

export function connections(options: Options): Connections {
  const { dispatcher: given, fetch } = options;
  if (given !== undefined) return borrowed((request, handler) => void given.dispatch(request, handler));
  if (fetch !== undefined) return borrowed(fetchDispatch(fetch));
  const awaited: string[] = [];
  /** Wraps a connector to the proxy at `host`: reports when it waits for the proxy, and names the proxy in errors. */
  const watched = (host: string, connect: buildConnector.connector): buildConnector.connector => {
    return (target, callback) => {
      awaited.push(host);
      connect(target, (...result) => {
        awaited.splice(awaited.indexOf(host), 1);
        const [error] = result;
        if (error === null) callback(...result);
        else callback(new ProxyUnreachableError(host, error), null);
      });
    };
  };
  // Loads undici at the first request, because some sources are opened only for forecasts and send none.
  let dispatcher: Dispatcher | undefined;
  let made: Promise<Dispatcher> | undefined;
  return {
    dispatch(request, handler) {
      if (dispatcher !== undefined) {
        dispatcher.dispatch(request, handler);
        return undefined;
      }
      made ??= makeDispatcher(options, watched).then((ready) => (dispatcher = ready));
      return made.then((ready) => void ready.dispatch(request, handler));
    },
    proxyOf(origin) {
      const { http, https } = proxiesOf(options);
      const address = origin.startsWith('https:') && https !== '' ? https : http;
      return address === '' ? undefined : new URL(address).host;
    },
    get proxyAwaited() {
      return awaited[0];
    },
    close: async () => await (await made?.catch(() => undefined))?.destroy(),
  };
}

function borrowed(dispatch: Dispatch): Connections {
  return { dispatch, proxyOf: () => undefined, proxyAwaited: undefined, close: () => Promise.resolve() };
}

/** Returns the addresses of the proxies in the environment, as undici reads them: lowercase wins. */
export function proxyVariables(env: Options['env']): { readonly http: string; readonly https: string } {
  return { http: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '', https: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '' };
}

function proxiesOf({ proxy, env }: Options): ReturnType<typeof proxyVariables> {
  return proxy === undefined ? proxyVariables(env) : { http: proxy, https: proxy };
}

async function makeDispatcher(
  options: Options,
  watched: (host: string, connect: buildConnector.connector) => buildConnector.connector,
): Promise<Dispatcher> {
  const { proxy, env, ca, timeoutMs } = options;
  const { Agent, Client, Pool, buildConnector } = await import('./undici-parts.ts');
  const tls = { allowH2: false, timeout: timeoutMs, ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }) };
  // The source's own clock measures the time of the whole attempt, so undici's timers for headers and bodies are off.
  const client = { allowH2: false, pipelining: 1, maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 0, bodyTimeout: 0 };
  const { http, https } = proxiesOf(options);
  const proxies = new Map(
    [http, https].filter((address) => address !== '').map((address) => [new URL(address).href, new URL(address).host]),
  );
  const agent: Agent.Options = {
    ...client,
    connect: tls,
    connectTimeout: timeoutMs,
    factory: (origin, given: object) => {
      // Requests that need no tunnel use connections to the proxy itself.
      const host = proxies.get(String(origin));
      const connect = host === undefined ? {} : { connect: watched(host, buildConnector(tls)) };
      // A proxy agent passes only `connect` to some of its pools, so the client's options are repeated here.
      return new Pool(origin, {
        ...given,
        ...client,
        ...connect,
        factory: (url, options) => reuseAware(new Client(url, { ...options, ...client })),
      });
    },
  };
  if (proxies.size === 0) return new Agent(agent);
  // undici's proxy agents call `connect`, which only undici's index adds to dispatchers.
  const { EnvHttpProxyAgent, ProxyAgent } = await import('undici');
  const proxied = {
    ...agent,
    requestTls: tls,
    proxyTls: tls,
    // Creates the connections to a proxy that carry tunnels.
    clientFactory: (origin: URL) => new Pool(origin, { connect: watched(origin.host, buildConnector(tls)) }),
  };
  if (proxy !== undefined) return new ProxyAgent({ ...proxied, uri: proxy });
  return new EnvHttpProxyAgent({ ...proxied, httpProxy: http, httpsProxy: https, noProxy: env['no_proxy'] ?? env['NO_PROXY'] ?? '' });
}

/** The context of `onRequestStart`. */
export interface ConnectionContext {
  /** True when an earlier request used this connection, which may have died while idle. */
  readonly reused: boolean;
}

/** Tells the handler of each request whether the connection has carried an earlier request. A client has one connection at a time. */
function reuseAware(client: Client): Client {
  let requests = 0;
  client.on('connect', () => {
    requests = 0;
  });
  const dispatch = client.dispatch.bind(client);
  client.dispatch = (options, handler) =>
    dispatch(options, {
      ...handler,
      onRequestStart(controller) {
        const context: ConnectionContext = { reused: requests > 0 };
        requests += 1;
        handler.onRequestStart?.(controller, context);
      },
    });
  return client;
}
