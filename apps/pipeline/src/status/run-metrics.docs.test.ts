import { spawnSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { startBooks, startFollowers, sampleIsbn } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { books } from '../pipelines/books.ts';
import { followers } from '../pipelines/followers.ts';
import { exposition } from './exposition.ts';
import { busyView } from './page/busy-view.fixture.ts';
import { runMetrics } from './run-metrics.ts';
import { scraped } from './scrape.fixture.ts';
import { place } from './shown-run.fixture.ts';
import { startStatusServer } from './status-server.ts';

const FIGURES = { cpuSeconds: 1.5, residentBytes: 80_000_000 };
const BUSY = runMetrics(busyView(), FIGURES).body;
const hasPromtool = spawnSync('promtool', ['--version']).status === 0;

it('the metrics count a run by credential, outcome and time, and start at 0 for everything that may happen', async () => {
  await using here = await place();
  const fault = { name: 'html', at: 3, times: 1_000 } as const;
  await using api = await startFollowers({
    window: { kind: 'rolling', limit: 100_000, windowMs: 1 },
    users: { alpha: { followers: 30 } },
    faults: [fault],
  });
  await using catalogue = await startBooks({ now: () => here.clock.epochMs() });
  const credentials = [{ name: 'app', bearer: 'a-token' }];
  const limit = { requests: 3, window: '15m' };
  const run = await here.run([
    followers({ baseUrl: api.url, credentials, users: [{ screenName: 'alpha' }], limit, count: 10 }),
    books({ baseUrl: catalogue.urls.default, key: 'a-key', isbns: [sampleIsbn(0)] }),
  ]);
  await run.shows(/retries in|waits for budget until/u);
  await expect.poll(() => run.view().pipelines['books']?.keys.answered).toBe(1);
  await using closing = new AsyncDisposableStack();
  const { clock } = here;
  const server = await startStatusServer({ port: 0, host: '127.0.0.1', clock, view: () => run.view(), commandFor: (_, topic) => topic });
  closing.defer(async () => await server.close());
  const scrape = scraped(await (await fetch(`${server.url}metrics`)).text());
  const value = (name: string, labels: Readonly<Record<string, string>> = {}): number | undefined => {
    const [, metric] = [...scrape].find(([of]) => name.startsWith(of) && /^(?:_bucket|_sum|_count)?$/u.test(name.slice(of.length))) ?? [];
    return metric?.samples.find((one) => one.name === name && Object.entries(labels).every(([label, of]) => one.labels[label] === of))
      ?.value;
  };
  const pipeline = 'followers';
  expect(value('headgate_requests_total', { pipeline, credential: 'app', outcome: 'ok' })).toBe(2);
  expect(value('headgate_requests_total', { pipeline, credential: 'app', outcome: 'transient' })).toBeGreaterThan(0);
  expect(value('headgate_requests_total', { pipeline, credential: 'app', outcome: 'unauthorized' })).toBe(0);
  expect(value('headgate_requests_total', { pipeline: 'books', credential: 'key', outcome: 'ok' })).toBe(1);
  expect(value('headgate_request_duration_seconds_count', { pipeline: 'books' })).toBe(1);
  expect(value('headgate_commit_duration_seconds_count', { pipeline })).toBeGreaterThanOrEqual(2);
  expect(value('headgate_commit_duration_seconds_bucket', { pipeline, le: '+Inf' })).toBe(
    value('headgate_commit_duration_seconds_count', { pipeline }),
  );
  expect(value('headgate_dead_letters_total', { pipeline })).toBe(0);
  expect(value('headgate_lanes_failed', { pipeline })).toBe(0);
  expect(value('headgate_requests_left', { pipeline })).toBe(1);
  expect(value('headgate_last_success_time_seconds', { pipeline })).toBe(clock.epochMs() / 1_000);
  expect(value('headgate_build_info', { version: '1.2.3' })).toBe(1);
  expect(value('process_resident_memory_bytes')).toBeGreaterThan(1e6);
  // Other tests check the documentation and the queries against the busy view, so this run must have the same metrics.
  const shape = ([name, { type, help, labels, samples }]: readonly [string, ReturnType<typeof scrape.get> & object]) => {
    return [name, type, help, samples.length === 0 ? [] : labels];
  };
  const busy = scraped(BUSY);
  const shown = [...scrape].filter(([, { samples }]) => samples.length > 0);
  expect([...busy].map(shape)).toEqual(expect.arrayContaining(shown.map(shape)));
  expect([...scrape.keys()]).toEqual([...busy.keys()]);
});

describe('a scrape', () => {
  it('follows the naming rules of Prometheus, describes each metric, and has no duplicate series', () => {
    const twice = busyView();
    for (const text of [BUSY, runMetrics({ ...twice, budgets: [...twice.budgets, ...twice.budgets] }, FIGURES).body]) {
      for (const [name, { type, help, samples, labels }] of scraped(text)) {
        expect(name).toMatch(/^(?:headgate|process)_[a-z]+(?:_[a-z]+)*$/u);
        expect(name.endsWith('_total')).toBe(type === 'counter');
        expect(name).not.toMatch(/_(?:ms|millis|milliseconds|minutes|kilobytes|percent)(?:_|$)|_(?:sum|count|bucket)$/u);
        expect(type !== 'histogram' || name.endsWith('_seconds')).toBe(true);
        expect(help).toMatch(/^\S.*\.$/u);
        expect(labels).not.toContain('le');
        const series = samples.map((one) => JSON.stringify([one.name, one.labels]));
        expect(series).toEqual([...new Set(series)]);
        for (const { value } of samples) expect(value).toBeGreaterThanOrEqual(0);
      }
    }
  });

  it('has the credit and the work of each pipeline, and the finish time of those whose sizes are known', () => {
    const view = busyView();
    const followersOnly = Object.entries(view.pipelines).map(([name, one]) => {
      return [name, { ...one, progress: { ...one.progress, isExact: name === 'followers' } }] as const;
    });
    const lines = runMetrics({ ...view, pipelines: Object.fromEntries(followersOnly) }, FIGURES).body.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'headgate_credit_limit{pipeline="followers"} 20000',
        'headgate_credit_used{pipeline="followers"} 5000',
        'headgate_credit_used{pipeline="books"} 0',
        'headgate_work{pipeline="books",state="requesting"} 1',
        'headgate_work{pipeline="books",state="waiting"} 0',
        'headgate_walks_unknown{pipeline="books"} 1',
      ]),
    );
    const doneAt = (view.now + 9 * 3_600_000) / 1_000;
    expect(lines.filter((line) => line.startsWith('headgate_done_time_seconds{'))).toEqual([
      `headgate_done_time_seconds{pipeline="followers"} ${doneAt}`,
    ]);
  });

  it('has cumulative buckets, of which the last one counts everything', () => {
    const histogram = { boundsMs: [100, 1_000], counts: [7, 10, 2], sumMs: 9_250 };
    const text = exposition([{ name: 'some_seconds', type: 'histogram', help: 'Some.', series: [[{ of: 'a' }, histogram]] }]);
    expect(text.split('\n').slice(2)).toEqual([
      'some_seconds_bucket{of="a",le="0.1"} 7',
      'some_seconds_bucket{of="a",le="1"} 17',
      'some_seconds_bucket{of="a",le="+Inf"} 19',
      'some_seconds_sum{of="a"} 9.25',
      'some_seconds_count{of="a"} 19',
      '',
    ]);
  });

  it('escapes any value of a label', () => {
    const text = exposition([{ name: 'some', type: 'gauge', help: 'A\\b\nc.', series: [[{ of: 'a"b\\c\nd} 1' }, 2]] }]);
    expect(text).toBe('# HELP some A\\\\b\\nc.\n# TYPE some gauge\nsome{of="a\\"b\\\\c\\nd} 1"} 2\n');
  });

  it('has as many series for ten times the work', () => {
    const lines = (requests: number): number => runMetrics(busyView({ requests }), FIGURES).body.split('\n').length;
    expect(lines(1_000)).toBe(lines(100));
  });

  it.skipIf(!hasPromtool)('passes `promtool check metrics` (skipped where Prometheus is not installed)', () => {
    const { status, stdout, stderr } = spawnSync('promtool', ['check', 'metrics'], { input: BUSY, encoding: 'utf8' });
    expect([status, stdout, stderr]).toEqual([0, '', '']);
  });
});

it('docs/observe.md has every metric, with its type, unit, labels and meaning', async () => {
  const page = await readFile(new URL('../../../../docs/observe.md', import.meta.url), 'utf8');
  const rows = [...scraped(BUSY)].map(([name, { type, help, labels }]) => {
    const said = labels.map((label) => `\`${label}\``).join(', ');
    return `| \`${name}\` | ${type} | ${unitOf(name)} | ${said} | ${help.replace(/\.$/u, '')} |`;
  });
  expect(page.split('\n').filter((line) => /^\| `(?:headgate|process)_/u.test(line))).toEqual(rows);
});

function unitOf(name: string): string {
  const [, unit] = /_(seconds|bytes)(?:_total)?$/u.exec(name) ?? [];
  return unit ?? (/_(?:info|available|unknown)$/u.test(name) ? '0 or 1' : 'number');
}
