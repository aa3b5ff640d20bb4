import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { ContractService } from './pipeline-contract.ts';

/**
 * Starts a service that responds with JSON, or with 404 if `answer` returns undefined. It responds with 429 to requests of a token beyond
 * its limit in a window.
 */
export async function limitedService(
  { limit, windowMs }: { readonly limit: number; readonly windowMs: number },
  answer: (url: URL, token: string) => object | undefined,
): Promise<ContractService> {
  const counted = new Map<string, number[]>();
  let requests = 0;
  let refused = 0;
  const server = createServer((request, response) => {
    requests += 1;
    const now = performance.now();
    const token = request.headers.authorization ?? '';
    const times = (counted.get(token) ?? []).filter((time) => now - time < windowMs);
    counted.set(token, times);
    if (times.length >= limit) {
      refused += 1;
      response.writeHead(429, { 'retry-after': '1' }).end();
      return;
    }
    times.push(now);
    const body = answer(new URL(request.url ?? '/', 'http://localhost'), token);
    if (body === undefined) response.writeHead(404).end();
    else response.end(JSON.stringify(body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests: () => requests,
    refused: () => refused,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
