import fc from 'fast-check';
import { expect, it } from 'vitest';
import { followers } from '../pipelines/followers.ts';
import { type SeenCrawl, driftingService } from './drifting-service.fixture.ts';
import { DAY_MS, virtualDays } from './virtual-days.fixture.ts';

const TORTURE = process.env['HEADGATE_TORTURE'] === '1';
const USERS = { alpha: 285, beta: 95 };
/** Approximate pages of a round, which crawls both users. At 7 pages in 15 minutes, a few pages more or less end in the same window. */
const PAGES = 39;
const SHARES = [0.1, 0.3, 0.6];

interface Change {
  readonly user: string;
  readonly crawl: string;
  readonly change: string;
  readonly id: string;
}

it(
  'a run reports for a day who followed and unfollowed in lists that change during their crawl, and each time predicts its end',
  { timeout: TORTURE ? 3_600_000 : 600_000 },
  async () => {
    await fc.assert(fc.asyncProperty(fc.integer({ min: 1, max: 2 ** 31 - 1 }), day), { numRuns: TORTURE ? 40 : 2, endOnFailure: true });
  },
);

async function day(seed: number): Promise<void> {
  let state = seed;
  const random = (): number => (state = (state * 48_271) % (2 ** 31 - 1)) / (2 ** 31 - 1);
  await using service = await driftingService({ users: USERS, pageSize: 10, random });
  let completed = 0;
  let pages = 0;
  let beganAt = 0;
  /** Forecasts of the finish time in the current round. `errors` collects their errors, each as a share of its round's duration. */
  const said: number[] = [];
  const errors: number[] = [];
  await using days = await virtualDays({
    pipelines: [
      followers({
        baseUrl: service.url,
        credentials: [{ name: 'app', bearer: 'a-token' }],
        users: Object.keys(USERS).map((screenName) => ({ screenName })),
        emit: ['pages', 'changes'],
        limit: { requests: 7, window: '15m' },
        count: 10,
        every: '12h',
      }),
    ],
    onEvent(event, clock) {
      if (event.type === 'request-completed') {
        completed += 1;
        if (completed % 2 === 1) return;
        const now = clock.epochMs();
        errors.push(...said.splice(0).map((at) => Math.abs(at - now) / (now - beganAt)));
        pages = 0;
        service.drift(5);
      }
      if (event.type !== 'page-written') return;
      pages += 1;
      if (pages === 1) beganAt = clock.epochMs();
      // There is no forecast in the first round, because the sizes are unknown.
      if (completed < 2 || pages <= PAGES * (SHARES[said.length] ?? Infinity)) return;
      const { progress } = days.running.snapshot();
      said.push(progress.isExact ? (progress.doneAt ?? 0) : 0);
    },
  });
  await days.until(DAY_MS + DAY_MS / 8);
  await days.stop();
  expect(errors).toHaveLength(2 * SHARES.length);
  for (const error of errors) expect(error).toBeLessThan(0.05);

  const changes: Change[] = [];
  for await (const { value } of days.log.read({ topic: 'followers.changes' })) changes.push(JSON.parse(value ?? '{}') as Change);
  for (const user of Object.keys(USERS)) {
    const crawls = service.crawls(user);
    expect(crawls).toHaveLength(3);
    for (const one of crawls) {
      expect(one.stayed.difference(one.seen)).toEqual(new Set());
      expect(one.seen.difference(one.there)).toEqual(new Set());
    }
    const told = [
      ...Map.groupBy(
        changes.filter((one) => one.user === `@${user}`),
        ({ crawl }) => crawl,
      ).values(),
    ];
    expect(told.map(inOrder)).toEqual(crawls.slice(1).map((after, i) => inOrder(differences(crawls[i], after))));
  }
}

function differences(before: SeenCrawl | undefined, { seen }: SeenCrawl): Pick<Change, 'change' | 'id'>[] {
  const had = before?.seen ?? new Set<string>();
  return [
    ...[...seen.difference(had)].map((id) => ({ change: 'followed', id })),
    ...[...had.difference(seen)].map((id) => ({ change: 'unfollowed', id })),
  ];
}

function inOrder(changes: readonly Pick<Change, 'change' | 'id'>[]): string[] {
  return changes.map(({ change, id }) => `${change} ${id}`).toSorted();
}
