import type { ServerResponse } from 'node:http';

import type { Answer } from './answer.ts';
import type { Fault } from './fault.ts';

/** Returns the status that a client sees; 0 if a fault leaves it without a response. */
export function deliveredStatus(answer: Answer, fault: Fault | undefined): number {
  if (fault?.name === 'hang' || fault?.name === 'reset') return 0;
  if (fault?.name === 'html') return 200;
  return fault?.name === 'html-503' ? 503 : answer.status;
}

/** Sends a response, changed by a fault if there is one. A slow delivery stops when the client disconnects. */
export function deliver(response: ServerResponse, answer: Answer, fault: Fault | undefined): void {
  const body = Buffer.from(answer.body);
  switch (fault?.name) {
    case 'hang':
      return;
    case 'reset':
      response.socket?.resetAndDestroy();
      return;
    case 'html':
    case 'html-503':
      sendHtml(response, fault.name === 'html' ? 200 : 503);
      return;
    case 'cut':
      head(response, answer, body.length);
      // Ends the socket instead of the response: the connection closes normally after the written part.
      response.write(body.subarray(0, half(body)), () => response.socket?.end());
      return;
    case 'truncated':
      head(response, answer, half(body));
      response.end(body.subarray(0, half(body)));
      return;
    case 'drip':
      drip(response, answer, body, fault.intervalMs ?? 1000);
      return;
    case 'oversize':
      oversize(response, answer, fault.bytes ?? 300_000_000);
      return;
    // These faults are already part of the response.
    case '429':
    case '503':
    case 'cursor-loop':
    case 'no-cursor':
    case 'clock-skew':
    case undefined:
      head(response, answer, body.length);
      response.end(body);
      return;
  }
}

function head(response: ServerResponse, { status, headers }: Answer, length: number | undefined): void {
  response.writeHead(status, { ...headers, ...(length === undefined ? {} : { 'content-length': length }) });
}

function half(body: Buffer): number {
  return Math.floor(body.length / 2);
}

function sendHtml(response: ServerResponse, status: number): void {
  const html = '<!DOCTYPE html>\n<html><head><title>Over capacity</title></head><body><p>Please try again in a moment.</p></body></html>\n';
  response.writeHead(status, { 'content-type': 'text/html;charset=utf-8', 'content-length': Buffer.byteLength(html) });
  response.end(html);
}

function drip(response: ServerResponse, answer: Answer, body: Buffer, intervalMs: number): void {
  head(response, answer, body.length);
  let sent = 0;
  const timer = setInterval(() => {
    if (sent < body.length) {
      response.write(body.subarray(sent, sent + 1));
      sent += 1;
      return;
    }
    clearInterval(timer);
    response.end();
  }, intervalMs);
  timer.unref();
  response.once('close', () => clearInterval(timer));
  response.flushHeaders();
}

/** Sends the response with at least this many bytes of padding before its own fields. It is chunked, so that no header reveals its length. */
function oversize(response: ServerResponse, answer: Answer, bytes: number): void {
  head(response, answer, undefined);
  const filler = Buffer.from(`"${'x'.repeat(65_532)}",\n`);
  let left = bytes;
  const pump = (): void => {
    while (left > 0) {
      left -= filler.length;
      if (!response.write(filler)) {
        response.once('drain', pump);
        return;
      }
    }
    const rest = answer.body.startsWith('{') && answer.body !== '{}' ? answer.body.slice(1) : '"body":null}';
    response.end(`""],${rest}`);
  };
  response.write('{"padding":[');
  pump();
}
