import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface IssuesEmulatorOptions {
  /** Number of issues in each repository. */
  readonly repos: Readonly<Record<string, number>>;
  /** Repositories that the service answers with 451. Default: none. */
  readonly blocked?: readonly string[];
  /** Maximum requests of each token per window and per month. Answers of 304 don't count. Default: 5,000 per hour, 100,000 per month. */
  readonly limits?: { readonly window?: number; readonly windowMs?: number; readonly month?: number };
  /** Issues per page. Default: 3. */
  readonly pageSize?: number;
  /** Port on 127.0.0.1. Default: 0, a free port. */
  readonly port?: number;
}

export interface IssuesEmulator extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly { readonly method: string; readonly path: string; readonly status: number; readonly token: string }[];
  /** Gives a repository's issues new titles, and its pages new ETags. */
  edit(repo: string): void;
}

interface Counted {
  readonly times: number[];
  month: number;
}

const MOST_OF_A_BATCH = 100;

/**
 * Starts a service of issues: `GET /repos/{owner}/{name}/issues` in pages with a Link header and an ETag, `POST /issues/batch` for single
 * ones.
 */
export async function startIssues(options: IssuesEmulatorOptions): Promise<IssuesEmulator> {
  const { repos, blocked = [], limits = {}, pageSize = 3, port = 0 } = options;
  const { window = 5_000, windowMs = 3_600_000, month = 100_000 } = limits;
  const requests: IssuesEmulator['requests'][number][] = [];
  const counted = new Map<string, Counted>();
  const editions = new Map<string, number>();
  const issueOf = (repo: string, number: number) => ({ number, title: `${repo} ${number}, edition ${editions.get(repo) ?? 1}` });

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://issues');
    const token = request.headers.authorization?.replace('Bearer ', '') ?? '';
    const body = await textOf(request);
    const send = (status: number, value?: unknown, headers: Record<string, string> = {}): void => {
      requests.push({ method: request.method ?? '', path: request.url ?? '', status, token });
      const own = tally(token);
      const oldest = own.times[0] ?? Date.now();
      response.writeHead(status, {
        'content-type': 'application/json',
        'x-window-left': String(window - own.times.length),
        'x-window-whole-in-ms': String(Math.max(0, oldest + windowMs - Date.now())),
        'x-month-left': String(month - own.month),
        'x-month-whole-in-ms': String(nextMonth() - Date.now()),
        ...headers,
      });
      response.end(value === undefined ? '' : JSON.stringify(value));
    };
    const tally = (of: string): Counted => {
      const own = counted.get(of) ?? { times: [], month: 0 };
      counted.set(of, own);
      while ((own.times[0] ?? Infinity) <= Date.now() - windowMs) own.times.shift();
      return own;
    };

    if (token === '' || token === 'revoked') return send(401, { message: 'bad credentials' });
    const [, first, owner = '', name = '', last] = pathname.split('/');
    const repo = `${decodeURIComponent(owner)}/${decodeURIComponent(name)}`;
    const count = first === 'repos' && last === 'issues' ? repos[repo] : undefined;
    const page = Number(searchParams.get('page') ?? 1);
    const etag = `"${repo} ${page} ${editions.get(repo) ?? 1}"`;
    if (count !== undefined && request.headers['if-none-match'] === etag) return send(304, undefined, { etag });

    const own = tally(token);
    if (own.times.length >= window)
      return send(429, { message: 'too many requests' }, { 'retry-after': String(Math.ceil(windowMs / 1_000)) });
    if (own.month >= month) return send(403, { message: 'the quota of this month is used up' });
    own.times.push(Date.now());
    own.month += 1;

    if (blocked.includes(repo)) return send(451, { message: 'unavailable for legal reasons' });
    if (count !== undefined) {
      const from = (page - 1) * pageSize;
      const issues = Array.from({ length: Math.min(pageSize, count - from) }, (_, i) => issueOf(repo, from + i + 1));
      const next = from + pageSize < count ? { link: `<${pathname}?page=${page + 1}>; rel="next"` } : {};
      return send(200, issues, { etag, ...next });
    }
    if (request.method !== 'POST' || pathname !== '/issues/batch') return send(404, { message: 'not found' });
    const requested = (JSON.parse(body) as { readonly issues: readonly string[] }).issues;
    if (requested.length > MOST_OF_A_BATCH) return send(400, { message: `at most ${MOST_OF_A_BATCH} issues` });
    const found = requested.flatMap((issue) => {
      const [of = '', number = ''] = issue.split('#');
      return Number(number) <= (repos[of] ?? 0) ? [{ issue, ...issueOf(of, Number(number)) }] : [];
    });
    return send(200, { issues: found });
  };

  const server = createServer((request, response) => {
    answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });
  const urlOf = (): string => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    url: urlOf(),
    requests,
    edit: (repo) => void editions.set(repo, (editions.get(repo) ?? 1) + 1),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

function nextMonth(): number {
  const now = new Date();
  return Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1);
}

async function textOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
