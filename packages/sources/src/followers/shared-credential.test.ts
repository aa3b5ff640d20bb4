import { bearer } from '@headgate/auth';
import { startFollowers } from '@headgate/sandbox';
import { creditPool } from '@headgate/throttle';
import { virtualClock } from '@headgate/throttle/testing';
import { setTimeout as sleep } from 'node:timers/promises';
import { of } from 'rxjs';
import { describe, expect, test } from 'vitest';
import { followers } from './followers.ts';

const WINDOW_MS = 60_000;
const STEP_MS = 1_000;

interface Scene {
  readonly kind: 'first-request' | 'wall-clock' | 'rolling';
  readonly walks: number;
  /** Number of requests that another client sends at the beginning of each window. */
  readonly others: readonly number[];
}

/** Walks over HTTP while another client uses the same token. The virtual clock doesn't move while a request is in flight. */
async function use({ kind, walks, others }: Scene): Promise<{ readonly refused: number; readonly pages: number }> {
  const clock = virtualClock();
  const users = Object.fromEntries(Array.from({ length: walks }, (_, i) => [`user${i}`, { followers: 1_000 }]));
  const window = { kind, limit: 10, windowMs: WINDOW_MS };
  await using server = await startFollowers({ users: { ...users, other: { followers: 1 } }, window, now: () => clock.epochMs() });
  const outcomes: string[] = [];
  await using api = followers({
    baseUrl: server.url,
    credentials: [{ name: 'app', signer: bearer('token') }],
    limit: { requests: 10, windowMs: WINDOW_MS },
    clock,
    onAttempt: ({ outcome }) => void outcomes.push(outcome),
  });
  const abort = new AbortController();
  const walking = Object.keys(users).map((screenName) =>
    api
      .pages({ screenName, count: 1, signal: abort.signal })
      .drain((page) => of(page), { credits: creditPool({ max: 1 }) })
      .forEach(() => undefined)
      .catch((error: unknown) => {
        if (!abort.signal.aborted) throw error;
      }),
  );
  const allWait = async (): Promise<void> => {
    for (;;) {
      await clock.settle();
      if (api.gauges().queries.filter(({ state }) => state === 'queued').length === walks) return;
      await sleep(1);
    }
  };
  const url = `${server.url}/1.1/followers/ids.json?screen_name=other`;
  await allWait();
  for (const requests of others) {
    for (let i = 0; i < requests; i += 1) await (await fetch(url, { headers: { authorization: 'Bearer token' } })).arrayBuffer();
    for (let ms = 0; ms < WINDOW_MS; ms += STEP_MS) {
      await clock.advance(STEP_MS);
      await allWait();
    }
  }
  abort.abort();
  await Promise.all(walking);
  return { refused: outcomes.filter((outcome) => outcome === 'rate-limited').length, pages: outcomes.filter((one) => one === 'ok').length };
}

describe.each((['first-request', 'wall-clock', 'rolling'] as const).flatMap((kind) => [1, 5].map((walks) => ({ kind, walks }))))(
  'a token that others use, in $kind windows, with $walks walks',
  (given) => {
    test('is never refused where nobody does', async () => {
      expect(await use({ ...given, others: [0, 0, 0, 0] })).toEqual({ refused: 0, pages: 40 });
    });

    test('is refused once at most while it stays the same, and once for each change', async () => {
      expect((await use({ ...given, others: [0, 4, 4, 4, 4, 4, 4] })).refused).toBeLessThanOrEqual(1);
      expect((await use({ ...given, others: [3, 3, 3, 0, 0, 0, 5, 5, 5] })).refused).toBeLessThanOrEqual(3);
    });
  },
);
