import { describe, expect, it } from 'vitest';
import { crawlRows } from './crawl-rows.ts';
import { createRunModel } from './run-model.ts';
import { createTimeWords } from './text/time-words.ts';
import { virtualClock } from './virtual-clock.fixture.ts';
import type { Activity, RunEvent } from './run-event.ts';
import type { TableRow } from './text/table.ts';

const times = createTimeWords({ timeZone: 'UTC' });

function rows(events: readonly RunEvent[], activities: readonly Activity[] = [], most = 20): { rows: readonly TableRow[]; rest: string } {
  const model = createRunModel({ clock: virtualClock() });
  for (const event of events) model.apply(event);
  return crawlRows({ snapshot: model.snapshot(), gauges: { budgets: [], credits: [], activities }, times, most });
}

describe('rows of the work', () => {
  it('says why a crawl failed', () => {
    const error = { code: 'X', message: '@carol: no such user (404)' };
    expect(rows([{ type: 'crawl-failed', user: '@carol', crawl: 'c', error }]).rows).toEqual([
      { name: '@carol', progress: '', amount: '', note: 'failed: no such user (404)', tone: 'bad' },
    ]);
  });

  it('gives a user crawled twice one row, the later crawl', () => {
    const events: RunEvent[] = [
      { type: 'crawl-completed', user: '@alpha', crawl: 'first', pages: 3, ids: 9 },
      { type: 'crawl-started', user: '@alpha', crawl: 'second', page: 1, resumed: false },
    ];
    const activities: Activity[] = [{ service: 'followers', subject: '@alpha', state: 'asking' }];
    expect(rows(events, activities).rows).toEqual([{ name: '@alpha', progress: 'first page', amount: '', note: 'asking' }]);
  });

  it('expects the end by the time a crawl was worked, not by the time its lane was elsewhere', () => {
    const clock = virtualClock();
    const model = createRunModel({ clock });
    const about = { user: '@alpha', crawl: 'followers.requests-0-1' };
    model.apply({ type: 'crawl-started', ...about, page: 1, resumed: false, expectedPages: 3 });
    model.apply({ type: 'page-written', ...about, page: 1, ids: 1, credential: 'app' });
    model.apply({ type: 'lane-left', service: 'followers', lane: 0 });
    clock.pass(3_600_000);
    model.apply({ type: 'crawl-started', ...about, page: 2, resumed: true });
    clock.pass(60_000);
    const gauges = { budgets: [], credits: [], activities: [{ service: 'followers', subject: '@alpha', state: 'asking' }] } as const;
    // One page took a minute, two are left: 11:32:04 and two minutes.
    expect(crawlRows({ snapshot: model.snapshot(), gauges, times, most: 9 }).rows[0]?.note).toBe('asking, done 11:34:04');
  });

  it('says when a retry comes', () => {
    const until = Date.UTC(2026, 2, 10, 10, 32, 0);
    expect(rows([], [{ service: 'followers', subject: '@beta', state: 'waiting-to-retry', until }]).rows[0]?.note).toBe(
      'tries again at 10:32:00',
    );
  });

  it('leaves the done out first, then the queued, and counts them', () => {
    const done = ['@d1', '@d2'].map((user): RunEvent => ({ type: 'crawl-completed', user, crawl: user, pages: 1, ids: 1 }));
    const activities = (['queued', 'asking', 'queued'] as const).map((state, index): Activity => ({
      service: 'followers',
      subject: `@a${index}`,
      state,
    }));
    const { rows: kept, rest } = rows(done, activities, 3);
    expect(kept.map((row) => row.name)).toEqual(['@a0', '@a1']);
    expect(rest).toBe('and 3 more: 1 queued, 2 done');
  });
});
