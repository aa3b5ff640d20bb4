import { getCACertificates } from 'node:tls';
import type { Agent, Client, Dispatcher } from 'undici';
import type { CheckedOptions } from '../checked-options.ts';
import { type Dispatch, fetchDispatch } from './fetch-dispatch.ts';

type Options = Pick<CheckedOptions, 'origin' | 'proxy' | 'env' | 'ca' | 'timeoutMs' | 'dispatcher' | 'fetch'>;

/** The kept-alive connections of one source. */
export interface Connections {
  readonly dispatch: Dispatch;
  /** Host and port of the proxy that carries the requests, unless NO_PROXY exempts them; undefined without one. */
  readonly proxy: string | undefined;
  /** The way to the service, for errors: ` through the proxy …`, or empty without a proxy. */
  readonly way: string;
  /** Aborts the requests and closes the connections, except those of the caller's dispatcher or `fetch`. */
  close(): Promise<void>;
}

/** As many as browsers accept. */
export const MAX_HEADER_BYTES: number = 256 * 1024;

export function connections(options: Options): Connections {
  const { dispatcher: given, fetch } = options;
  if (given !== undefined) return borrowed((request, handler) => void given.dispatch(request, handler));
  if (fetch !== undefined) return borrowed(fetchDispatch(fetch));
  const { http, https } = proxiesOf(options);
  const address = options.origin.startsWith('https:') && https !== '' ? https : http;
  const proxy = address === '' ? undefined : new URL(address).host;
  const exempts = options.proxy === undefined && exemptions(options.env) !== '';
  // Loads undici at the first request, because some sources are opened only for forecasts and send none.
  let made: Promise<Dispatcher> | undefined;
  return {
    async dispatch(request, handler) {
      made ??= makeDispatcher(options);
      (await made).dispatch(request, handler);
    },
    proxy,
    way: proxy === undefined ? '' : `${exempts ? ' directly or' : ''} through the proxy ${proxy}`,
    close: async () => await (await made?.catch(() => undefined))?.destroy(),
  };
}

function borrowed(dispatch: Dispatch): Connections {
  return { dispatch, proxy: undefined, way: '', close: () => Promise.resolve() };
}

/** Returns the addresses of the proxies in the environment, as undici reads them: lowercase wins. */
export function proxyVariables(env: Options['env']): { readonly http: string; readonly https: string } {
  return { http: env['http_proxy'] ?? env['HTTP_PROXY'] ?? '', https: env['https_proxy'] ?? env['HTTPS_PROXY'] ?? '' };
}

function exemptions(env: Options['env']): string {
  return env['no_proxy'] ?? env['NO_PROXY'] ?? '';
}

function proxiesOf({ proxy, env }: Options): ReturnType<typeof proxyVariables> {
  return proxy === undefined ? proxyVariables(env) : { http: proxy, https: proxy };
}

async function makeDispatcher(options: Options): Promise<Dispatcher> {
  const { proxy, env, ca, timeoutMs } = options;
  const { Agent, Client, Pool } = await import('./undici-parts.ts');
  const tls = { allowH2: false, timeout: timeoutMs, ...(ca !== undefined && { ca: [...getCACertificates('default'), ca] }) };
  // The source's own clock measures the time of the whole attempt, so undici's timers for headers and bodies are off.
  const client = { allowH2: false, pipelining: 1, maxHeaderSize: MAX_HEADER_BYTES, headersTimeout: 0, bodyTimeout: 0 };
  const { http, https } = proxiesOf(options);
  const agent: Agent.Options = {
    ...client,
    connect: tls,
    connectTimeout: timeoutMs,
    // A proxy agent passes only `connect` to some of its pools, so the client's options are repeated here.
    factory: (origin, given: object) =>
      new Pool(origin, {
        ...given,
        ...client,
        factory: (url, own) => reuseAware(new Client(url, { ...own, ...client })),
      }),
  };
  if (http === '' && https === '') return new Agent(agent);
  // undici's proxy agents call `connect`, which only undici's index adds to dispatchers.
  const { EnvHttpProxyAgent } = await import('undici');
  const noProxy = proxy === undefined ? exemptions(env) : '';
  return new EnvHttpProxyAgent({ ...agent, requestTls: tls, proxyTls: tls, httpProxy: http, httpsProxy: https, noProxy });
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
