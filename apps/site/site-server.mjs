import { once } from 'node:events';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { createServer } from 'node:http';
import { extname, join, normalize } from 'node:path';

const TYPES = {
  '.css': 'text/css',
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.json': 'application/json',
  '.md': 'text/markdown; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  '.woff2': 'font/woff2',
};

/** Serves a built site on 127.0.0.1. Port 0 takes a free one. */
export async function serveSite(dist, port = 0) {
  const server = createServer(({ url = '/' }, response) => {
    const path = join(dist, normalize(decodeURIComponent(new URL(url, 'http://site').pathname)));
    const file = [path, `${path}.html`, join(path, 'index.html')].find((each) => existsSync(each) && statSync(each).isFile());
    if (file === undefined)
      return void response.writeHead(404, { 'content-type': TYPES['.html'] }).end(readFileSync(join(dist, '404.html')));
    response.writeHead(200, { 'content-type': TYPES[extname(file)] ?? 'application/octet-stream' }).end(readFileSync(file));
  });
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return { url: `http://127.0.0.1:${server.address().port}/`, close: () => server.close() };
}
