import { readFile } from 'node:fs/promises';
import { type FollowersUser, startFollowers } from '@headgate/sandbox';
import { describe, expect, it } from 'vitest';
import { followers } from '../pipelines/followers.ts';
import { recordSchemas } from '../records/index.ts';
import { place as virtualPlace } from '../status/shown-run.fixture.ts';
import { addJobs } from './embedded-log.fixture.ts';
import { type ReadRecord, SECRETS, followersYaml, workplace } from './headgate-process.fixture.ts';
import { httpService } from './http-service.fixture.ts';

const WINDOW_MS = 900_000;
const FREELY = { window: { kind: 'rolling', limit: 100_000, windowMs: 1_000 } } as const;

describe('headgate run, followers', () => {
  it.each(['strings', 'numbers'] as const)(
    'walks a recording exactly, with ids spelled as %s and boundary duplicates kept, one request per page',
    async (spelling) => {
      const pages = recordedPages();
      await using place = await workplace('');
      const requests: string[] = [];
      await using service = await recorded(pages, spelling, requests);
      await place.write('headgate.yaml', followersYaml({ url: service.url, users: ['alpha'] }));

      const run = await place.headgate('run');
      expect(run.stderr).toContain('1 job, 6 pages');
      expect([run.code, run.stdout]).toEqual([0, '']);
      const ids = await place.records('followers.ids');
      expect(idsOf(ids)).toEqual(pages.flatMap(({ ids: some }) => some));
      expect(requests).toHaveLength(6);
      expect(
        (await place.records('followers.pages')).map(({ value, headers }) => [
          value['page'],
          value['cursor'],
          value['nextCursor'],
          headers['ce_id'],
        ]),
      ).toEqual(pages.map(({ cursor, next }, i) => [i + 1, cursor, next, `followers.requests-0-0/${i + 1}`]));
    },
  );

  it('continues with the others if one user is protected and one does not exist; a second run requests nothing', async () => {
    const users: Record<string, FollowersUser> = {
      a: { followers: 12_000 },
      b: { followers: 3 },
      c: { followers: 0 },
      d: { followers: 7_000 },
      locked: { protected: true },
    };
    await using service = await startFollowers({ ...FREELY, users });
    await using place = await workplace(followersYaml({ url: service.url, users: ['a', 'b', 'locked', 'c', 'nobody', 'd'] }));

    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    expect(run.stderr).toMatch(/@locked .*protected/);
    const deadLetters = await place.records('followers.dead-letters');
    expect(deadLetters.map(({ key, value }) => [key, value['request'], (value['error'] as { code: string }).code]).sort()).toEqual([
      ['@locked', { screenName: 'locked' }, 'HEADGATE_USER_PROTECTED'],
      ['@nobody', { screenName: 'nobody' }, 'HEADGATE_USER_NOT_FOUND'],
    ]);
    const ends = (await place.records('followers.crawls')).filter(({ value }) => value['state'] !== 'started');
    expect(ends.map(({ key, value }) => [key, value['state'], value['pages'], value['ids']]).sort()).toEqual([
      ['@a', 'completed', 3, 12_000],
      ['@b', 'completed', 1, 3],
      ['@c', 'completed', 1, 0],
      ['@d', 'completed', 2, 7_000],
      ['@locked', 'failed', 0, 0],
      ['@nobody', 'failed', 0, 0],
    ]);
    expect(idsOf((await place.records('followers.ids')).filter(({ key }) => key === '@a'))).toEqual(service.followersOf('a'));

    const asked = service.requests.length;
    const again = await place.headgate('run');
    expect([again.code, service.requests.length]).toEqual([0, asked]);
    expect(again.stderr).toContain('Nothing to do');
  });

  it('replays jobs that may succeed, and leaves malformed ones in place', async () => {
    await using service = await startFollowers({ ...FREELY, users: { locked: { protected: true } } });
    await using place = await workplace(followersYaml({ url: service.url, users: [] }));
    await addJobs(place, 'followers', ['no JSON', '{"screenName":"locked"}', '{"userId":12}', 'null']);
    expect((await place.headgate('run')).code).toBe(1);

    const replay = await place.headgate('replay', 'followers.dead-letters');
    expect([replay.code, replay.stderr]).toEqual([0, expect.stringContaining('1 re-enqueued into followers.requests, 3 skipped')]);
    expect(replay.stderr).toMatch(/skipped followers\.dead-letters 0:\d+: job 2: The job is malformed: userId must be/);
    await place.headgate('run');
    expect(service.requests).toHaveLength(2);
    expect((await place.records('followers.dead-letters')).map(({ key }) => key).sort()).toEqual([
      '@locked',
      '@locked',
      'job 0',
      'job 2',
      'job 3',
    ]);
  });

  it('identifies a malformed job with an empty key by its position', async () => {
    await using place = await workplace(followersYaml({ url: 'http://127.0.0.1:9', users: [] }));
    await addJobs(place, 'followers', ['no JSON'], '');
    const run = await place.headgate('run');
    expect([run.code, run.stderr]).toEqual([1, expect.stringContaining("followers.requests-0-0: The job isn't JSON")]);
    expect((await place.records('followers.dead-letters')).map(({ key }) => key)).toEqual(['followers.requests-0-0']);
  });

  it('loses and duplicates nothing after any single fault of the service', async () => {
    const faults = ['429', '503', 'html', 'html-503', 'reset', 'cut', 'truncated', 'drip', 'hang', 'oversize', 'clock-skew'] as const;
    await Promise.all(
      faults.map(async (name) => {
        await using service = await startFollowers({
          ...FREELY,
          users: { alpha: { followers: 600, pageSize: 50 } },
          faults: [{ name, at: 5, times: 1 }],
        });
        const more = '  count: 50\n  timeout: 10s\n  limit: { requests: 100000, window: 1s }\n';
        await using place = await workplace(
          followersYaml({ url: service.url, users: ['alpha'], more }).replace('  limit: { requests: 100000, window: 1s }\n', ''),
        );
        const run = await place.headgate('run');
        expect([name, run.code, run.stderr.includes('12 pages')]).toEqual([name, 0, true]);
        expect(idsOf(await place.records('followers.ids'))).toEqual(service.followersOf('alpha'));
        expect([name, service.requests.length]).toEqual([name, name === 'clock-skew' ? 12 : 13]);
      }),
    );
  });

  it('ends a crawl whose cursors form a loop with a named error, and keeps its pages', async () => {
    await using service = await startFollowers({
      ...FREELY,
      users: { alpha: { followers: 600, pageSize: 50 } },
      faults: [{ name: 'cursor-loop', at: 5 }],
    });
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], more: '  count: 50\n' }));
    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    const [deadLetter] = await place.records('followers.dead-letters');
    expect([deadLetter?.key, deadLetter?.value['error']]).toMatchObject(['@alpha', { code: 'HEADGATE_CURSOR_LOOP' }]);
    expect(idsOf(await place.records('followers.ids'))).toEqual(service.followersOf('alpha').slice(0, 250));
  });

  it('keeps a page without a next cursor, fails its crawl, and replays it from the start', async () => {
    await using service = await startFollowers({
      ...FREELY,
      users: { alpha: { followers: 600, pageSize: 50 } },
      faults: [{ name: 'no-cursor', at: 5, times: 2 }],
    });
    await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], more: '  count: 50\n' }));
    const run = await place.headgate('run');
    expect(run.code).toBe(1);
    const [deadLetter] = await place.records('followers.dead-letters');
    expect([deadLetter?.key, deadLetter?.value['error']]).toMatchObject([
      '@alpha',
      {
        code: 'HEADGATE_UNFIT_ANSWER',
        retryable: true,
        message: expect.stringContaining('page 5 arrived, but names no valid next page') as string,
      },
    ]);
    expect(idsOf(await place.records('followers.ids'))).toEqual(service.followersOf('alpha').slice(0, 250));
    const pages = (await place.records('followers.pages')).map(({ value }) => recordSchemas['followers.pages'].parse(value));
    expect(pages.map(({ nextCursor }) => nextCursor === '')).toEqual([false, false, false, false, true]);
    expect((await place.headgate('replay', 'followers')).code).toBe(0);
    expect((await place.headgate('run')).code).toBe(0);
    expect(idsOf(await place.records('followers.ids')).slice(250)).toEqual(service.followersOf('alpha'));
  });

  it.each(['problem', 'text', 'empty'] as const)(
    'ends for a missing user and a refused token whose errors have no code (%s)',
    async (errorFormat) => {
      const names = ['one', 'two', 'three'];
      await using service = await startFollowers({
        ...FREELY,
        users: Object.fromEntries(Array.from({ length: 6 }, (_, i) => [`user${i}`, { followers: 3 }])),
        credentials: names.map((name) => ({ name, bearer: `${name}-token`, ...(name === 'two' && { refusedWith: 453 }) })),
        errorFormat,
      });
      const config = followersYaml({ url: service.url, users: ['nobody', 'user0', 'user1', 'user2', 'user3', 'user4', 'user5'] });
      const listed = names.map((name) => `    - { name: ${name}, bearer: ${name}-token }\n`).join('');
      await using place = await workplace(config.replace(/ {4}- \{ name: app.*\n/, listed));
      const run = await place.headgate('run');
      expect([run.code, run.stderr]).toEqual([1, expect.stringContaining('@nobody')]);
      expect(
        (await place.records('followers.dead-letters')).map(({ key, value }) => [key, (value['error'] as { code: string }).code]),
      ).toEqual([['@nobody', 'HEADGATE_USER_NOT_FOUND']]);
      expect(await place.records('followers.ids')).toHaveLength(18);
    },
  );

  it('detects a loop across a restart, and replays it from the start', async () => {
    const pages = recordedPages().map((page, i) =>
      i === 4 ? { ...page, next: '222' } : { ...page, cursor: i === 1 ? '222' : page.cursor, next: i === 0 ? '222' : page.next },
    );
    await using place = await workplace('');
    const requests: string[] = [];
    await using service = await recorded(pages, 'strings', requests, 150);
    await place.write('headgate.yaml', followersYaml({ url: service.url, users: ['alpha'] }));
    const first = place.start('run');
    while (requests.length < 3) await new Promise((resolve) => setTimeout(resolve, 5));
    first.child.kill('SIGKILL');
    await first.ended;
    expect((await place.headgate('run')).code).toBe(1);
    expect((await place.records('followers.pages')).map(({ value }) => value['page'])).toEqual([1, 2, 3, 4, 5]);
    const [deadLetter] = await place.records('followers.dead-letters');
    expect(deadLetter?.value).toMatchObject({ request: { screenName: 'alpha' }, error: { code: 'HEADGATE_CURSOR_LOOP' } });
    expect(deadLetter?.value['request']).not.toHaveProperty('cursor');
  });

  it.each(['rolling', 'first-request', 'wall-clock'] as const)('uses a %s window to its limit, without a refusal', async (kind) => {
    await using here = await virtualPlace();
    await using service = await startFollowers({
      users: { alpha: { followers: 450, pageSize: 10 } },
      window: { kind, limit: 15, windowMs: WINDOW_MS },
      now: () => here.clock.epochMs(),
    });
    const pipeline = followers({
      baseUrl: service.url,
      credentials: [{ name: 'app', bearer: SECRETS.TOKEN }],
      users: [{ screenName: 'alpha' }],
      limit: { requests: 15, window: '15m' },
      count: 10,
    });
    const startedAt = here.clock.epochMs();
    const run = await here.run([pipeline], { lines: false });
    expect((await run.finish()).outcome).toBe('done');
    expect(service.requests.map(({ status }) => status)).toEqual(Array.from({ length: 45 }, () => 200));
    // There are 15 requests in each window, so the last ones are sent at the start of the third window.
    expect(run.lastAnswerAt() - startedAt).toBeLessThan(2.1 * WINDOW_MS);
  });

  it.runIf(process.platform === 'linux')('keeps no more of a 300 MB body than its limit', async () => {
    const peaks: number[] = [];
    for (const faults of [[], [{ name: 'oversize', at: 3 } as const]]) {
      await using service = await startFollowers({ ...FREELY, users: { alpha: { followers: 600, pageSize: 50 } }, faults });
      await using place = await workplace(followersYaml({ url: service.url, users: ['alpha'], more: '  count: 50\n' }));
      const run = place.start('run');
      let peak = 0;
      const watching = setInterval(() => void peakMemory(run.child.pid).then((bytes) => (peak = Math.max(peak, bytes))), 5);
      expect((await run.ended).code).toBe(0);
      clearInterval(watching);
      peaks.push(peak);
    }
    const [without = 0, within = 0] = peaks;
    // The limit is 16 MiB. The same amount again can wait for the garbage collector.
    expect(within - without).toBeLessThan(2 * 16 * 1024 * 1024);
  });
});

async function peakMemory(pid = 0): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return 1024 * Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0);
}

interface RecordedPage {
  readonly cursor: string;
  readonly next: string;
  readonly previous: string;
  readonly ids: readonly string[];
}

/** Six pages with large IDs and cursors. Two of the pages begin with the last ID of the page before. */
function recordedPages(): RecordedPage[] {
  const cursors = ['-1', ...Array.from({ length: 5 }, (_, i) => String(2n ** 62n + 3n ** 20n * BigInt(i + 1) + 1n)), '0'];
  let counter = 2n ** 60n + 7n;
  let last = '';
  return Array.from({ length: 6 }, (_, page) => {
    const ids = Array.from({ length: 300 }, () => String((counter += 7_919n)));
    if (page === 2 || page === 4) ids.unshift(last);
    last = ids.at(-1) ?? '';
    return { cursor: cursors[page] ?? '', next: cursors[page + 1] ?? '', previous: page === 0 ? '0' : `-${cursors[page]}`, ids };
  });
}

/** Serves these pages by their cursors, and notes the cursor of each request. */
async function recorded(pages: readonly RecordedPage[], spelling: 'strings' | 'numbers', requests: string[], latencyMs = 0) {
  return await httpService((request, response) => {
    const cursor = new URL(request.url ?? '', 'http://localhost').searchParams.get('cursor') ?? '-1';
    requests.push(cursor);
    const page = pages.find((one) => one.cursor === cursor);
    response.statusCode = page === undefined ? 404 : 200;
    response.setHeader('content-type', 'application/json;charset=utf-8');
    setTimeout(() => response.end(page && bodyOf(page, spelling)), latencyMs);
  });
}

function bodyOf({ ids, next, previous }: RecordedPage, spelling: 'strings' | 'numbers'): string {
  return spelling === 'strings'
    ? `{"ids":[${ids.map((id) => `"${id}"`).join(',')}],"next_cursor":${next},"next_cursor_str":"${next}","previous_cursor":${previous},"previous_cursor_str":"${previous}"}`
    : `{"ids":[${ids.join(',')}],"next_cursor":${next},"previous_cursor":${previous}}`;
}

function idsOf(records: readonly ReadRecord[]): unknown[] {
  return records.map(({ value }) => value['id']);
}
