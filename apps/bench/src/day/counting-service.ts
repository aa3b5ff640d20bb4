import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { judge, type JudgeVerdict } from '../limiter/judge.ts';
import type { WindowKind } from '../limiter/server-window.ts';

/** Least and most time that a response takes, ms. */
const ROUND_TRIP_MS = { least: 20, most: 400 } as const;

export interface Tally extends JudgeVerdict {
  /** Number of requests that were counted for a job for which one had been counted before. */
  readonly twice: number;
}

/** A service that answers `/job/<id>`, and refuses with 429 what is over its limit. Disposing it closes it. */
export interface CountingService extends Disposable {
  readonly origin: string;
  tally(): Tally;
}

/**
 * Starts a service. It counts a request at a random moment between its arrival and its response. `scale`: how many times its windows, and so
 * its responses, are shorter than a real service's.
 */
export async function countingService(kind: WindowKind, limit: number, windowMs: number, scale: number): Promise<CountingService> {
  const counted = judge({ kind, limit, windowMs, driftPpm: 0, phaseMs: Math.random() * windowMs });
  const jobs = new Set<string>();
  let twice = 0;

  const answer = async (job: string, response: ServerResponse): Promise<void> => {
    const roundTripMs = (ROUND_TRIP_MS.least + Math.random() * (ROUND_TRIP_MS.most - ROUND_TRIP_MS.least)) / scale;
    const untilCounted = roundTripMs * Math.random();
    await sleep(untilCounted);
    const atMs = performance.now();
    const isAccepted = counted.count(atMs);
    const { resetInMs } = counted.headers(atMs);
    if (isAccepted && jobs.has(job)) twice += 1;
    if (isAccepted) jobs.add(job);
    await sleep(roundTripMs - untilCounted);
    response.setHeader('content-type', 'application/json');
    if (isAccepted) response.end(JSON.stringify({ records: [{ id: job }] }));
    else response.writeHead(429, { 'retry-after': String(Math.max(1, resetInMs / 1_000)) }).end('{}');
  };

  const server = createServer((request, response) => void answer(request.url ?? '', response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    origin: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    tally: () => ({ ...counted.verdict(performance.now()), twice }),
    [Symbol.dispose]() {
      server.close();
      server.closeAllConnections();
    },
  };
}
