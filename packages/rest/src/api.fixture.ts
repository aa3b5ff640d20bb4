import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** Parsed JSON, or the fields of a form. */
  readonly body: unknown;
  /** The values of `{name}` in the route. */
  readonly params: Readonly<Record<string, string>>;
  readonly url: string;
}

export interface ApiAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
}

export interface ApiOptions {
  /** Handlers by method and path, such as `GET /items/{id}`. */
  readonly routes: Readonly<Record<string, (call: ApiCall) => ApiAnswer | Promise<ApiAnswer>>>;
  /** Maximum requests per `Authorization` header in any window. Default: 1,000 in 100 ms. */
  readonly limit?: { readonly requests: number; readonly windowMs: number };
  /** Returns whether a request is authorized. Default: every request is. */
  readonly knows?: (call: ApiCall) => boolean;
}

export interface Api extends AsyncDisposable {
  readonly url: string;
  readonly answered: readonly (ApiCall & {
    readonly status: number;
    /** Time of the answer, epoch ms. */
    readonly at: number;
  })[];
  readonly requests: () => number;
  /** Number of requests answered with 429. */
  readonly refused: () => number;
}

export async function startApi({ routes, limit = { requests: 1_000, windowMs: 100 }, knows = () => true }: ApiOptions): Promise<Api> {
  const answered: Api['answered'][number][] = [];
  const counted = new Map<string, number[]>();
  const table = Object.entries(routes).map(([route, answer]) => {
    const [method = '', path = ''] = route.split(' ');
    return { method, pattern: new RegExp(`^${path.replaceAll(/\{(\w+)\}/g, '(?<$1>[^/]+)')}$`), answer };
  });

  const isOver = (who: string): boolean => {
    const now = Date.now();
    const times = (counted.get(who) ?? []).filter((time) => time > now - limit.windowMs);
    counted.set(who, times);
    if (times.length >= limit.requests) return true;
    times.push(now);
    return false;
  };

  const answerTo = async (call: ApiCall): Promise<ApiAnswer & { readonly status: number }> => {
    if (!knows(call)) return { status: 401, body: { message: 'who are you' } };
    if (isOver(String(call.headers['authorization'] ?? '')))
      return { status: 429, headers: { 'retry-after': '1' }, body: { message: 'too many' } };
    for (const { method, pattern, answer } of table) {
      const params = method === call.method ? pattern.exec(call.path)?.groups : undefined;
      if (params === undefined && !(method === call.method && pattern.test(call.path))) continue;
      const decoded = Object.fromEntries(Object.entries(params ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]));
      return { status: 200, ...(await answer({ ...call, params: decoded })) };
    }
    return { status: 404, body: { message: 'nothing here' } };
  };

  const server = createServer((request, response) => {
    handle(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', url);
    const call = {
      method: request.method ?? '',
      path: pathname,
      query: searchParams,
      headers: request.headers,
      body: await bodyOf(request),
      params: {},
      url,
    };
    const { status, headers = {}, body } = await answerTo(call);
    answered.push({ ...call, status, at: Date.now() });
    response.writeHead(status, { 'content-type': 'application/json', ...headers });
    response.end(body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body));
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    answered,
    requests: () => answered.length,
    refused: () => answered.filter(({ status }) => status === 429).length,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  const text = Buffer.concat(await Array.fromAsync(request as AsyncIterable<Buffer>)).toString();
  if (text === '') return undefined;
  return request.headers['content-type'] === 'application/json' ? JSON.parse(text) : Object.fromEntries(new URLSearchParams(text));
}

/** `page` counts from 1. */
export function pageOf<Item>(items: readonly Item[], page: number, size: number): readonly Item[] {
  return items.slice((page - 1) * size, page * size);
}

/** The items after the one with this ID. If `id` is missing, all items. */
export function after<Item extends { readonly id: unknown }>(items: readonly Item[], id: string | null | undefined): readonly Item[] {
  return id === null || id === undefined ? items : items.slice(items.findIndex((item) => String(item.id) === id) + 1);
}
