import { once } from 'node:events';
import { connect } from 'node:net';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { WINDOW_KINDS } from '../limiter/server-window.ts';
import { countingService } from './counting-service.ts';

const HOUR_MS = 3_600_000;

// Time stands still, so that no window ends by itself.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

it.each(WINDOW_KINDS)('refuses what is over the limit of a window that is %s, and counts the refusals', async (kind) => {
  using service = await countingService(kind, 2, HOUR_MS, 1_000);
  const statuses: number[] = [];
  for (const job of ['a', 'b', 'c', 'd']) statuses.push((await fetch(`${service.origin}/job/${job}`)).status);
  expect(statuses).toEqual([200, 200, 429, 429]);
  expect(service.tally()).toMatchObject({ kind, counted: 2, refused: 2, twice: 0 });
});

it('names the rest of the window when it refuses', async () => {
  using service = await countingService('first-request', 1, HOUR_MS, 1_000);
  await fetch(`${service.origin}/job/a`);
  const refused = await fetch(`${service.origin}/job/b`);
  expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
  expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(3_601);
});

it('counts a job that is made again, and not one that was refused before', async () => {
  using service = await countingService('first-request', 3, HOUR_MS, 1_000);
  const send = async (jobs: readonly string[]) => {
    for (const job of jobs) await (await fetch(`${service.origin}/job/${job}`)).text();
  };
  await send(['a', 'b', 'a', 'c']);
  expect(service.tally()).toMatchObject({ counted: 3, refused: 1, twice: 1 });
  vi.advanceTimersByTime(HOUR_MS);
  await send(['c', 'b', 'd', 'a']);
  expect(service.tally()).toMatchObject({ counted: 6, refused: 2, twice: 2 });
});

it('answers an accepted job with its record', async () => {
  using service = await countingService('rolling', 1, HOUR_MS, 1_000);
  expect(await (await fetch(`${service.origin}/job/7`)).json()).toEqual({ records: [{ id: '/job/7' }] });
});

it('counts a request whose client is gone before the response', async () => {
  using service = await countingService('rolling', 1, HOUR_MS, 1);
  const socket = connect(Number(new URL(service.origin).port), '127.0.0.1');
  socket.end('GET /job/a HTTP/1.1\r\nhost: service\r\n\r\n');
  await once(socket, 'finish');
  socket.destroy();
  await expect.poll(() => service.tally().counted).toBe(1);
});
