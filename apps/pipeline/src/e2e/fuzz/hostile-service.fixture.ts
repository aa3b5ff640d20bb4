import { once } from 'node:events';
import { type IncomingMessage, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import type { BodyKind, HostileAnswer, OddValue, WaitKind } from './answers.fixture.ts';
import { type SkippingClock, skippingClock } from './skipping-clock.fixture.ts';
import { SPELLINGS } from './spelled-secrets.fixture.ts';

/** The good answers of a service, and the places at which an answer can be changed. */
export interface Content {
  /** The JSON of a good answer; undefined if the address doesn't exist. */
  good(method: string, url: URL, body: string): Record<string, unknown> | undefined;
  /** Fields at which answers are changed. */
  readonly fields: readonly string[];
  /** Records an answer that was sent. */
  sent(url: URL, answer: Record<string, unknown>): void;
}

export interface HostileServiceOptions {
  readonly content: Content;
  /** Answers to the first requests, in order. For later requests, the answer is `good`. */
  readonly answers: readonly HostileAnswer[];
  /** Returns the answer to each request for this address and body; undefined for the one in `answers`. */
  readonly answerTo?: (url: URL, body: string) => HostileAnswer | undefined;
  readonly limit: number;
  readonly windowMs: number;
  /** Requests per window that another client makes with the same credential. Undefined: there is no other client. */
  readonly foreign: number | undefined;
  readonly headers: 'true' | 'lies' | 'none';
}

export interface CountedRequest {
  readonly credential: string;
  /** Time of the request on the service's clock, epoch ms. */
  readonly at: number;
  readonly url: string;
  /** Whether the service refused the request because the window was full. */
  readonly refused: boolean;
}

export interface Wait {
  readonly credential: string;
  readonly url: string;
  /** End of the wait on the service's clock, epoch ms. */
  readonly until: number;
  /** Number of requests that came before this answer. */
  readonly after: number;
}

export interface HostileService extends AsyncDisposable {
  readonly url: string;
  readonly clock: SkippingClock;
  readonly requests: readonly CountedRequest[];
  /** Waits in seconds that the service asked for with status 429. */
  readonly waits: readonly Wait[];
  /** Maximum bytes that were sent for one answer. */
  readonly mostBytes: number;
  /** Called at each request with its number, from 1. */
  onRequest: (count: number) => void;
}

const ITEMS = 300_000;
const BOMB = gzipSync(Buffer.alloc(20 * 2 ** 20, ' '));
const CHUNK = Buffer.alloc(64 * 2 ** 10, ' ');

/** An HTTP service that counts requests correctly but answers as `answers` says. Its clock skips idle time. */
export async function hostileService(options: HostileServiceOptions): Promise<HostileService> {
  const { content, answers, limit, windowMs, foreign } = options;
  const open = new Set<ServerResponse>();
  const clock = skippingClock({ isBusy: () => open.size > 0 });
  const requests: CountedRequest[] = [];
  const waits: Wait[] = [];
  const windows = new Map<string, { starts: number; own: number; others: number }>();
  let mostBytes = 0;

  /** The current window, which begins with its first counted request. Another client's requests count from the start of each window. */
  const windowOf = (credential: string): { starts: number; own: number; others: number } => {
    const known = windows.get(credential);
    const now = clock.epochMs();
    if (known !== undefined && now < known.starts + windowMs) return known;
    const fresh = { starts: now, own: 0, others: foreign ?? 0 };
    windows.set(credential, fresh);
    return fresh;
  };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    let asked = '';
    for await (const chunk of request.setEncoding('utf8')) asked += String(chunk);
    clock.touch();
    const credential = request.headers.authorization ?? '';
    const name = nameOf(credential);
    const window = windowOf(name);
    const refused = window.own + window.others >= limit;
    if (!refused) window.own += 1;
    const url = new URL(request.url ?? '/', 'http://localhost');
    requests.push({ credential: name, at: clock.epochMs(), url: url.href, refused });
    const how = options.answerTo?.(url, asked) ?? answers[requests.length - 1] ?? { kind: 'good' as const };
    service.onRequest(requests.length);
    open.add(response);
    const { socket } = response;
    const before = socket?.bytesWritten ?? 0;
    response.on('close', () => {
      open.delete(response);
      clock.touch();
      mostBytes = Math.max(mostBytes, (socket?.bytesWritten ?? 0) - before);
    });
    response.on('error', () => undefined);
    response.setHeader('date', new Date(clock.epochMs()).toUTCString());
    const left = limit - window.own - window.others;
    const reset = Math.ceil((window.starts + windowMs) / 1_000);
    if (options.headers === 'true') rateHeaders(response, left, reset);
    if (options.headers === 'lies')
      rateHeaders(response, (requests.length * 7) % (limit + 3), reset + ((requests.length * 13) % 2_000) - 1_000);
    if (refused) {
      rateHeaders(response, 0, reset);
      json(response, 429, { errors: [{ code: 88, message: 'Rate limit exceeded' }] });
      return;
    }
    await give(how, { response, url, good: content.good(request.method ?? 'GET', url, asked), secrets: secretsOf(credential), name });
  };

  const give = async (how: HostileAnswer, { response, url, good, secrets, name }: Given): Promise<void> => {
    const said = (index: number): string => secrets.map((secret) => SPELLINGS[index]?.spell(secret) ?? '').join(' ');
    const plain = (): void => {
      if (good === undefined) json(response, 404, { errors: [{ code: 34, message: 'not found' }], message: 'not found' });
      else json(response, 200, good);
      if (good !== undefined) content.sent(url, good);
    };
    switch (how.kind) {
      case 'good':
        plain();
        return;
      case 'status': {
        waitHeader(response, how.wait, clock.epochMs());
        if (how.wait.kind === 'seconds' && how.status === 429) {
          waits.push({ credential: name, url: url.href, until: clock.epochMs() + how.wait.seconds * 1_000, after: requests.length });
        }
        if (how.status >= 300 && how.status < 400)
          response.setHeader('location', `https://${nameable(said(0))}.example.com/?key=${nameable(said(0))}`);
        const text = bodyOf(how.body, good, said(how.spelling));
        if (how.status === 200 && how.body === 'good' && good !== undefined) content.sent(url, good);
        response.writeHead(how.status, printable(said(how.spelling)), { 'content-type': 'application/json' });
        response.end(how.status === 204 || how.status === 304 ? undefined : text);
        return;
      }
      case 'body':
        if (how.body === 'good') plain();
        else response.writeHead(200).end(bodyOf(how.body, good, said(how.spelling)));
        return;
      case 'odd': {
        const odd = changed(good ?? {}, content.fields[how.field % content.fields.length] ?? '', how.value, said(how.spelling));
        json(response, 200, odd);
        content.sent(url, odd);
        return;
      }
      case 'huge':
        await huge(response, how.how, good);
        return;
      case 'cut': {
        const text = JSON.stringify(good ?? {});
        response.writeHead(200, { 'content-length': text.length + 1 });
        response.write(text.slice(0, how.at), () => response.destroy());
        return;
      }
      case 'late':
        open.delete(response);
        clock.schedule(how.afterMs, () => {
          if (!response.destroyed) open.add(response);
          plain();
        });
        return;
      case 'header':
        response.setHeader(how.name, printable(said(how.spelling)));
        if (how.name === 'location') response.writeHead(302).end();
        else if (how.name === 'retry-after') json(response, 503, {});
        else plain();
        return;
      case 'reset':
        response.socket?.resetAndDestroy();
        return;
      case 'silent':
        open.delete(response);
        return;
      case 'stalled':
        response.writeHead(200).write('{"ids":[');
        clock.schedule(1, () => open.delete(response));
        return;
      case 'hints':
        response.writeEarlyHints({ link: '</a>; rel=preload' });
        open.delete(response);
        clock.schedule(3_000, plain);
        return;
      case 'no-http':
        response.socket?.end(`HTTP/1.1 200 OK\r\nContent-Length: -1\r\n${printable(said(0))}\r\n\r\n`);
        return;
      case 'compressed-badly':
        response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(JSON.stringify(good ?? {})).subarray(0, -5));
        return;
      case 'empty':
        response.writeHead(200).end();
        return;
    }
  };

  const server = createServer({ keepAlive: true }, (request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  server.on('connection', () => clock.touch());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const service: HostileService = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    clock,
    requests,
    waits,
    get mostBytes() {
      return mostBytes;
    },
    onRequest: () => undefined,
    async [Symbol.asyncDispose]() {
      clock[Symbol.dispose]();
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
  return service;
}

interface Given {
  readonly response: ServerResponse;
  readonly url: URL;
  readonly good: Record<string, unknown> | undefined;
  readonly secrets: readonly string[];
  readonly name: string;
}

/** The part of the Authorization header that is the same in all requests of a credential. */
function nameOf(authorization: string): string {
  return /oauth_consumer_key="[^"]*"/.exec(authorization)?.[0] ?? authorization;
}

function secretsOf(authorization: string): string[] {
  const oauth = [...authorization.matchAll(/oauth_(?:consumer_key|token|signature)="([^"]*)"/g)].map(([, value = '']) =>
    decodeURIComponent(value),
  );
  return oauth.length > 0 ? oauth : [authorization.replace(/^Bearer /, '')];
}

function rateHeaders(response: ServerResponse, remaining: number, reset: number): void {
  response.setHeader('x-rate-limit-remaining', String(remaining));
  response.setHeader('x-rate-limit-reset', String(reset));
}

function waitHeader(response: ServerResponse, wait: WaitKind, now: number): void {
  const values = { none: undefined, past: new Date(now - 9_000).toUTCString(), garbage: 'soon', negative: '-5' };
  const value =
    'seconds' in wait
      ? wait.kind === 'seconds'
        ? String(wait.seconds)
        : new Date(now + wait.seconds * 1_000).toUTCString()
      : values[wait.kind];
  if (value !== undefined) response.setHeader('retry-after', value);
}

function json(response: ServerResponse, status: number, value: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
}

/** The printable ASCII characters of the text. */
function printable(text: string): string {
  return text.replace(/[^\u0020-\u007E]/g, '');
}

/** The letters and digits of the text, at most 60, for use as a host name. */
function nameable(text: string): string {
  return text.replace(/[^a-zA-Z0-9]/g, '').slice(0, 60);
}

function bodyOf(kind: BodyKind, good: unknown, said: string): string | Buffer {
  const codes = [17, 32, 34, 50, 63, 64, 88, 89, 130, 131, 135, 179, 215, 326, 999];
  const bodies: Record<BodyKind, () => string | Buffer> = {
    good: () => JSON.stringify(good ?? {}),
    none: () => '',
    html: () => `<html><title>${said}</title></html>`,
    words: () => `You said ${said}`,
    errors: () => JSON.stringify({ errors: [{ code: codes[said.length % codes.length], message: `Token ${said} is bad` }] }),
    error: () => JSON.stringify({ error: `Not authorized. ${said}` }),
    message: () => JSON.stringify({ message: `Key ${said} is bad`, errorMessage: said }),
    limit: () => JSON.stringify({ message: `Limit reached for key ${said}` }),
    'not found': () => JSON.stringify({ message: `No such book, asked with ${said}` }),
    null: () => 'null',
    number: () => '1e400',
    list: () => JSON.stringify([said]),
    text: () => JSON.stringify(said),
    deep: () => '['.repeat(30_000),
    'no utf-8': () => Buffer.from([0x22, 0xff, 0xfe, 0x22]),
    cut: () => JSON.stringify(good ?? {}).slice(0, -1),
    keys: () => JSON.stringify({ [said]: said }),
  };
  return bodies[kind]();
}

/** The answer with another value in one place. A list is changed in its middle. */
function changed(good: Record<string, unknown>, field: string, value: OddValue, said: string): Record<string, unknown> {
  const [name = '', nth] = field.split('.');
  const given = good[name];
  if (nth !== undefined && Array.isArray(given)) {
    const list: unknown[] = given;
    if (list.length === 0) return good;
    const at = Math.floor(list.length / 2);
    return { ...good, [name]: value === 'shorter' ? list.slice(0, at) : list.with(at, odd(list[at], value, said)) };
  }
  const copy = { ...good, [name]: odd(given, value, said) };
  if (value === 'missing') delete copy[name];
  return copy;
}

function odd(given: unknown, value: OddValue, said: string): unknown {
  const values: Record<OddValue, unknown> = {
    null: null,
    missing: undefined,
    'empty text': '',
    secret: said,
    object: { [said]: said },
    list: [],
    true: true,
    fraction: 1.5,
    negative: -7,
    wide: '99999999999999999999',
    first: '-1',
    repeated: Array.isArray(given) ? [...(given as unknown[]), ...(given as unknown[])] : given,
    shorter: Array.isArray(given) ? given.slice(1) : '0',
  };
  return values[value];
}

async function huge(response: ServerResponse, how: 'spaces' | 'items' | 'gzip' | 'header', good: unknown): Promise<void> {
  switch (how) {
    case 'header':
      response.setHeader('x-long', 'x'.repeat(300_000));
      response.writeHead(200).end(JSON.stringify(good ?? {}));
      return;
    case 'gzip':
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(BOMB);
      return;
    case 'items': {
      const items = Array.from({ length: ITEMS }, () => 1);
      json(response, 200, { ids: items, data: items, books: items, next_cursor: 0 });
      return;
    }
    case 'spaces':
      response.writeHead(200);
      const closed = new Promise((resolve) => response.once('close', resolve));
      for (let i = 0; i < 500 && !response.destroyed; i += 1) {
        if (response.write(CHUNK)) continue;
        await Promise.race([closed, new Promise((resolve) => response.once('drain', resolve))]);
      }
      response.end();
      return;
  }
}
