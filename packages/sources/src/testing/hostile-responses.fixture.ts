import { brotliCompressSync, gzipSync } from 'node:zlib';
import { JSON_TYPE } from './responses.ts';
import type { Respond } from './scripted-server.ts';

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
