import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { rest } from '@headgate/rest';
import { describe, expect, it } from 'vitest';
import { jobRows } from './format-row.ts';
import type { RunView } from './run-view.ts';
import { place } from './shown-run.fixture.ts';
import { createTimeWords } from './text/time-words.ts';

const PAGED = { pages: { page: { query: 'page' }, while: '$.more' } };
const EIGHT = { query: { part: '{part}' }, for: { part: Array.from({ length: 8 }, (_, i) => String(i)) } };

/** A service with 12 posts on two pages, and two comments on each post. The comments of the post 3 are missing. `isPaged`: read both pages. Otherwise, eight jobs read the first one. */
async function blog({ isPaged = true } = {}) {
  const server = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://x');
    const page = Number(searchParams.get('page') ?? 1);
    const [, , post] = pathname.split('/');
    const body =
      post === undefined
        ? Array.from({ length: 6 }, (_, i) => ({ id: (page - 1) * 6 + i + 1 }))
        : [1, 2].map((i) => ({ id: `${post}.${i}` }));
    const isMissing = post === '3';
    response.writeHead(isMissing ? 404 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(isMissing ? {} : { data: body, more: post === undefined && page < 2 }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    pipeline: rest('blog')({
      baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
      credentials: [{ name: 'anyone' }],
      limit: { requests: 5, window: '1m' },
      streams: {
        posts: { get: '/posts', records: '$.data[*]', key: '$.id', ...(isPaged ? PAGED : EIGHT) },
        comments: { get: '/posts/{post}/comments', records: '$.data[*]', key: '$.id', for: { each: 'posts', with: { post: '$.id' } } },
      },
    }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

describe('the streams of a service', () => {
  it('have a row each, with the jobs that are done, and no row for each job', async () => {
    await using api = await blog();
    await using here = await place();
    const run = await here.run([api.pipeline]);
    await run.shows(/^ {2}comments .* 3 of 12, 1 failed/mu);
    const frame = run.frame();
    expect(frame[0]).toBe('  30.7 % of 13 requests, done at 10:02:00');
    expect(frame.slice(2, 5)).toEqual([
      '  comments  █████░░░░░░░░░░░░░  3 of 12, 1 failed  4 records   waits for budget until 10:01:00',
      '  posts     ██████████████████  2 pages            12 records  done',
      '',
    ]);
    expect([...frame, run.summary()].join('\n')).not.toMatch(/crawl|walk/u);
    const { pipelines, work } = run.view();
    expect(pipelines['blog']?.groups).toMatchObject({ comments: { done: expect.any(Number) as number, isExact: true } });
    expect(work.filter((row) => row.kind === 'walk' && row.group === 'comments').length).toBeGreaterThan(1);
    // A filter shows the jobs.
    const times = createTimeWords({ timeZone: 'UTC' });
    const filtered = jobRows(run.view(), times, { text: 'comments/', state: 'all', most: 100 }).rows;
    expect(filtered.map(({ name }) => name)).toContain('comments/12');
    const result = await run.finish();
    expect(result.outcome).toBe('done');
    expect(run.frame().join('\n')).toMatch(/^ {2}comments +█+ +12 of 12, 1 failed +22 records +done$/mu);
  });

  it.each([
    ['of unknown size', true],
    ['whose sizes are known', false],
  ])('are exact only when no job of a stream %s can create further jobs', async (_, isPaged) => {
    await using api = await blog({ isPaged });
    await using here = await place();
    const run = await here.run([api.pipeline]);
    const seen: (readonly (boolean | undefined)[])[] = [[false, false, false]];
    const noted = ({ pipelines, progress }: RunView): void => {
      const { posts, comments } = pipelines['blog']?.groups ?? {};
      if (comments !== undefined) seen.push([posts?.left === 0, comments.isExact, progress.isExact]);
    };
    noted(run.view());
    await run.finish(noted);
    expect(seen.filter(([isListed, ...areExact]) => areExact.some((isExact) => isExact !== isListed))).toEqual([]);
    expect(seen.at(-1)).toEqual([true, true, true]);
  });

  it('have at most one plain line a second', async () => {
    await using api = await blog();
    await using here = await place();
    const run = await here.run([api.pipeline]);
    await run.finish();
    const about = run.plain.lines.filter((line) => line.includes('comments'));
    expect(about.filter((line) => !line.includes('dead-letters')).length).toBeLessThan(8);
    expect(about.at(-1)).toMatch(/comments: 12 of 12 jobs, 1 failed; 11 pages, 22 records$/u);
    expect(run.plain.text).toMatch(/posts: 1 of 1 job; 2 pages, 12 records$/mu);
    expect(run.plain.text).not.toMatch(/comments\/\d+ (?:starts|page|done)/u);
    expect(run.view().history.events.filter(({ event }) => event.type === 'request-started')).toEqual([]);
  });
});
