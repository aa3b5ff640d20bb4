import { createServer, type Server } from 'node:http';

/** Number of IDs on a page, which takes 110 kB. */
export const IDS_PER_PAGE = 5_000;

/** The unique ID at a 0-based position in the whole list. It has 19 digits, as the IDs of the real service do. */
export function idAt(place: number): string {
  return `14000000${String(place * 7_919).padStart(11, '0')}`;
}

/** Path at which the service says when it answered each page last, epoch ms. */
export const ANSWERED = '/answered';

/** A followers service that does as little as possible: all pages are created in advance. Cursors count up, and 0 is the end. */
export function pageServer(pages: number): Server {
  const bodies = Array.from({ length: pages }, (_, i) => {
    const ids = Array.from({ length: IDS_PER_PAGE }, (_, id) => `"${idAt(i * IDS_PER_PAGE + id)}"`).join(',');
    const next = i + 1 === pages ? 0 : i + 1;
    return Buffer.from(
      `{"ids":[${ids}],"next_cursor":${next},"next_cursor_str":"${next}","previous_cursor":0,"previous_cursor_str":"0","total_count":null}`,
    );
  });
  const answeredAtMs: number[] = [];
  return createServer((request, response) => {
    if (request.url === ANSWERED) return void response.end(JSON.stringify(answeredAtMs));
    const cursor = Number(/[?&]cursor=(-?\d+)/.exec(request.url ?? '')?.[1] ?? -1);
    const page = Math.max(0, cursor);
    const body = bodies[page];
    response.once('finish', () => (answeredAtMs[page] = performance.timeOrigin + performance.now()));
    if (body === undefined) response.writeHead(404).end();
    else response.writeHead(200, { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length }).end(body);
  });
}
