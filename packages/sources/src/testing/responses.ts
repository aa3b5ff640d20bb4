import { brotliCompressSync, gzipSync } from 'node:zlib';
import type { Respond } from './scripted-server.ts';

const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

export function whole(body: string, status = 200): Respond {
  return (_, response) => response.writeHead(status, JSON_TYPE).end(body);
}

export function html(status: number): Respond {
  return (_, response) =>
    response.writeHead(status, { 'content-type': 'text/html' }).end('<!DOCTYPE html><html><body>Over capacity</body></html>');
}

export function busy(retryAfterS: number): Respond {
  return (_, response) => response.writeHead(503, { ...JSON_TYPE, 'retry-after': String(retryAfterS) }).end('{}');
}

export function compressed(body: string, encoding: 'gzip' | 'br'): Respond {
  const bytes = encoding === 'gzip' ? gzipSync(body) : brotliCompressSync(body);
  return (_, response) => response.writeHead(200, { ...JSON_TYPE, 'content-encoding': encoding }).end(bytes);
}

/** Declares the length of the whole body, sends half of it, and closes the connection. */
export function cut(body: string): Respond {
  return (_, response) => {
    const bytes = Buffer.from(body);
    response.writeHead(200, { ...JSON_TYPE, 'content-length': bytes.length });
    response.write(bytes.subarray(0, bytes.length >> 1), () => response.destroy());
  };
}

/** Resets the connection instead of responding. */
export const reset: Respond = (request) => {
  request.socket.resetAndDestroy();
};

/** Reads the request and never responds. */
export const hang: Respond = () => undefined;

/** Sends a response that never ends, as fast as the client reads it. */
export const endless: Respond = (_, response) => {
  response.writeHead(200, JSON_TYPE);
  const chunk = Buffer.alloc(64 * 1024, ' ');
  const pour = (): void => {
    while (!response.destroyed && response.write(chunk));
  };
  response.on('drain', pour);
  pour();
};

/** Sends `body`, padded with spaces to `bytes` and compressed. */
export function bomb(body: string, bytes: number): Respond {
  return compressed(body.padEnd(bytes), 'gzip');
}

/** Sends 103 Early Hints at once, and the response after `afterMs`. */
export function hinted(answer: Respond, afterMs: number): Respond {
  return (request, response) => {
    response.writeEarlyHints({ link: '</style.css>; rel=preload' });
    setTimeout(() => answer(request, response), afterMs);
  };
}

export function redirect(to: string): Respond {
  return (_, response) => response.writeHead(302, { location: to }).end();
}

/** Sends a content-encoding header that contains the request's secret, as `spell` spells it. */
export function encoded(spell: (secret: string) => string): Respond {
  return (request, response) => {
    const secret = spell((request.headers.authorization ?? '').replace(/^Bearer /, '')).replaceAll('\u0007', '');
    response.writeHead(200, { ...JSON_TYPE, 'content-encoding': secret }).end(gzipSync('{}'));
  };
}

/** Sends a 403 whose texts contain the request's secret, as `spell` spells it. */
export function echo(spell: (secret: string) => string): Respond {
  return (request, response) => {
    const message = `bad credentials: ${spell((request.headers.authorization ?? '').replace(/^Bearer /, ''))}`;
    response.writeHead(403, JSON_TYPE).end(JSON.stringify({ message, errorMessage: message, error: message, errors: [{ message }] }));
  };
}
