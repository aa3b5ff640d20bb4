import { createServer, type Server } from 'node:http';

export interface RecordServerOptions {
  readonly pages: number;
}

export const RECORDS_PER_PAGE = 100;

/** Serves a listing of issues, and does as little as possible: all pages are created in advance. */
export function recordServer({ pages }: RecordServerOptions): Server {
  const bodies = Array.from({ length: pages }, (_, page) => {
    const data = Array.from({ length: RECORDS_PER_PAGE }, (__, i) => recordAt(page * RECORDS_PER_PAGE + i));
    return Buffer.from(JSON.stringify({ data, next: page + 1 < pages ? String(page + 1) : null }));
  });
  return createServer((request, response) => {
    const body = bodies[Number(/[?&]cursor=(\d+)/.exec(request.url ?? '')?.[1] ?? 0)];
    if (body === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }).end(body);
  });
}

function recordAt(id: number): object {
  const at = new Date(1_700_000_000_000 + id * 1_000).toISOString();
  const user = { login: `user${id % 50}`, id: id % 50, url: `https://api.example.com/users/${id % 50}`, site_admin: false };
  const labels = ['bug', 'help wanted'].map((name, i) => ({ id: i, name, color: 'd73a4a', default: i === 0 }));
  const title = `The ${id}th thing that doesn't work as its documentation says`;
  return {
    id,
    number: id,
    state: 'open',
    title,
    user,
    labels,
    comments: id % 7,
    created_at: at,
    updated_at: at,
    closed_at: null,
    body: null,
  };
}
