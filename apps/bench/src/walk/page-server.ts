import { createServer, type Server } from 'node:http';

export interface PageServerOptions {
  /** Pages of one walk. */
  readonly pages: number;
  /** Ids of a page; 5,000 make 110 kB. */
  readonly idsPerPage: number;
}

/** A followers listing with as little behind it as can be: each page is made once. Cursors count up, 0 ends. */
export function pageServer({ pages, idsPerPage }: PageServerOptions): Server {
  const ids = Array.from({ length: idsPerPage }, (_, i) => `"${1_400_000_000_000_000_000n + BigInt(i) * 7_919n}"`).join(',');
  const bodies = Array.from({ length: pages }, (_, i) => {
    const next = i + 1 === pages ? 0 : i + 1;
    return Buffer.from(
      `{"ids":[${ids}],"next_cursor":${next},"next_cursor_str":"${next}","previous_cursor":0,"previous_cursor_str":"0","total_count":null}`,
    );
  });
  return createServer((request, response) => {
    const cursor = Number(/[?&]cursor=(-?\d+)/.exec(request.url ?? '')?.[1] ?? -1);
    const body = bodies[Math.max(0, cursor)];
    if (body === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }).end(body);
  });
}
