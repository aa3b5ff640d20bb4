import type { IncomingMessage } from 'node:http';

/**
 * Reads the whole body. Returns undefined if it is longer than `maxBytes`. The rest is read and discarded, so that the response can be
 * sent.
 */
export async function readBody(request: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes <= maxBytes) chunks.push(chunk);
  }
  return bytes <= maxBytes ? Buffer.concat(chunks).toString('utf8') : undefined;
}
