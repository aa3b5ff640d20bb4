import { describe, expect, it } from 'vitest';
import { credential } from '../scene.fixture.ts';
import { HOUR_MS, type Lie, MINUTE_MS, paths, service, until } from './failing-service.fixture.ts';

const LIES = ['cut', 'endless', 'html', 'empty', 'wrong type', 'no http', 'long headers', 'bare 100'] as const satisfies readonly Lie[];

/** Returns the lie that the request gets: four of five get one of `lies`. */
const lieOf = (path: string, lies: readonly Lie[]): Lie | undefined => {
  const number = Number(path.split('/')[2]);
  return number % 5 === 4 ? undefined : lies[number % lies.length];
};

describe('four of five requests that get responses that can’t be used', () => {
  const scenes = [
    { count: 80, requests: 5, slowMs: 20, concurrency: 1 },
    { count: 80, requests: 5, slowMs: 20, concurrency: 10, credentials: [credential('a'), credential('b'), credential('c')] },
    { count: 80, requests: 5, slowMs: 20, concurrency: 10 },
    { count: 200, requests: 1_000, slowMs: 20, concurrency: 10 },
    { count: 200, requests: 50, slowMs: 3_000, concurrency: 10 },
    { count: 200, requests: 1_000, slowMs: 3_000, concurrency: 100 },
  ];

  it.each<readonly [string, readonly Lie[]]>([
    ['each its own', LIES],
    ...(['html', 'endless', 'no http'] as const).map((lie) => [lie, [lie]] as const),
  ])('all end within minutes, on an idle machine and a busy one, and the others are answered: %s', async (_, lies) => {
    for (const { count, requests, slowMs, concurrency, ...more } of scenes) {
      let state = count;
      const random = (): number => (state = (state * 1_664_525 + 1_013_904_223) >>> 0) / 2 ** 32;
      const scene = service({
        meets: (path) => lieOf(path, lies) ?? 200,
        latencyMs: () => slowMs * (0.5 + random()),
        limit: { requests, windowMs: 1_000 },
        retryForMs: MINUTE_MS,
        timeoutMs: 5_000,
        stopAfterFailures: 1_000,
        concurrency,
        random,
        ...more,
      });
      const names = paths(count)
        .map((path) => ({ path, at: random() }))
        .toSorted((a, b) => a.at - b.at)
        .map(({ path }) => path);
      for (const path of names) scene.query(path);
      await until(scene.clock, () => scene.ended.size === count, { stepMs: 10_000, atMostMs: 24 * HOUR_MS });
      const honest = names.filter((path) => lieOf(path, lies) === undefined);
      expect(honest.map((path) => scene.ended.get(path)?.how)).toEqual(honest.map(() => 'answered'));
      expect(scene.ended.size).toBe(count);
      // The time of the attempts, of which a credential has only some in flight.
      const eachMs = lies.includes('endless') ? 5_000 : 1.5 * slowMs;
      const attemptsMs = scene.attempts.length * (eachMs / concurrency + 2_000 / requests);
      expect(scene.clock.monotonicMs()).toBeLessThan(3 * MINUTE_MS + attemptsMs);
      expect(scene.clock.pending).toBe(0);
    }
  });
});
