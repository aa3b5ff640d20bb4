import type { Respond } from './scripted-server.ts';

export const JSON_TYPE = { 'content-type': 'application/json; charset=utf-8' };

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

/** Reads the request and never responds. */
export const hang: Respond = () => undefined;

/** Sends a 403 whose texts contain the request's secret, as `spell` spells it. */
export function echo(spell: (secret: string) => string): Respond {
  return (request, response) => {
    const message = `bad credentials: ${spell((request.headers.authorization ?? '').replace(/^Bearer /, ''))}`;
    response.writeHead(403, JSON_TYPE).end(JSON.stringify({ message, errorMessage: message, error: message, errors: [{ message }] }));
  };
}
