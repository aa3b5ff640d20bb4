import { type RunEvent, type StartOptions, replayDeadLetters, start } from '@headgate/pipeline';
import { cutLog } from '@headgate/pipeline/testing';
import { expect, it } from 'vitest';
import { type Api, startApi } from './api.fixture.ts';
import { valuesOf } from './cut-runs.fixture.ts';
import { type Section, bearer, some } from './list.fixture.ts';
import { rest } from './rest.ts';
import { type LogShare, sharedLog } from './shared-log.fixture.ts';

const shareOfLog = sharedLog();

/** Three repositories with three issues each. Both levels are incremental. `status`: that of every issues response. */
async function startRepos(status = () => 200) {
  return await startApi({
    routes: {
      'GET /repos': ({ query }) => ({ body: some(3).filter(({ updated_at: at }) => at > (query.get('since') ?? '')) }),
      'GET /repos/{repo}/issues': ({ params, query }) => ({
        status: status(),
        body: some(3, Number(params['repo']) * 10).filter(({ updated_at: at }) => at > (query.get('since') ?? '')),
      }),
      'GET /tags': () => ({ body: [{ id: 1 }] }),
    },
  });
}

const since = { from: '$.updated_at', order: 'fixed', children: 'changed' } as const;
const query = { since: '{since}' };
const STREAMS: Section['streams'] = {
  repos: { get: '/repos', query, key: '$.id', since },
  issues: { get: '/repos/{repo}/issues', query, for: { each: 'repos', with: { repo: '$.id' } }, key: '$.id', since },
  tags: { get: '/tags', key: '$.id' },
};

const sectionOf = (api: Api) => rest('api')({ ...bearer, retryFor: '1ms', baseUrl: api.url, streams: STREAMS });

async function work(share: LogShare, api: Api, options: Partial<StartOptions> = {}) {
  const notices: string[] = [];
  const onEvent = (event: RunEvent): void => {
    if (event.type === 'notice') notices.push(event.message);
  };
  const before = api.answered.length;
  await using running = await start({ ...share, pipelines: [sectionOf(api)], onEvent, ...options });
  expect((await running.done).failures).toEqual([]);
  return {
    notices,
    asked: api.answered
      .slice(before)
      .map(({ path, query: { size } }) => `${path}${size > 0 ? ' since' : ''}`)
      .sort(),
  };
}

const ISSUES = ['/repos/1/issues', '/repos/2/issues', '/repos/3/issues'];

it('a run asks nothing of a finished list, and with `again` for what changed since', async () => {
  const share = shareOfLog();
  await using api = await startRepos();
  const asked: (readonly string[])[] = [];
  for (const again of [undefined, undefined, { pipeline: 'api' }, { pipeline: 'api', group: 'repos' }, { pipeline: 'api', group: 'tags' }])
    asked.push((await work(share, api, again && { again })).asked);
  expect(asked).toEqual([['/repos', ...ISSUES, '/tags'], [], ['/repos since', '/tags'], ['/repos since'], ['/tags']]);
});

it('`fromStart` asks for a whole list, and for the whole lists of its records', async () => {
  const share = shareOfLog();
  await using api = await startRepos();
  await work(share, api);
  const { asked } = await work(share, api, { again: { pipeline: 'api', group: 'repos', fromStart: true } });
  expect(asked).toEqual(['/repos', ...ISSUES]);
  expect((await valuesOf(share, 'api.issues')).length).toBe(18);
  expect((await work(share, api, { again: { pipeline: 'api' } })).asked).toEqual(['/repos since', '/tags']);
});

it.each([true, false])('a listing from the start that failed is still one when it runs again: fromStart: %s', async (fromStart) => {
  const share = shareOfLog();
  let isDown = false;
  await using api = await startRepos(() => (isDown ? 400 : 200));
  await work(share, api);
  isDown = true;
  await work(share, api, { again: { pipeline: 'api', group: 'repos', fromStart: true } });
  isDown = false;
  const { asked } = await work(share, api, { again: { pipeline: 'api', group: 'tags', fromStart } });
  expect(asked).toEqual(['/tags']);
  const names = (topic: string): string => share.topics.prefix + topic;
  const { requests } = sectionOf(api);
  expect(await replayDeadLetters({ ...share, names, requests })).toEqual({ replayed: 3, left: 0 });
  expect((await work(share, api)).asked).toEqual(ISSUES);
});

it.each([
  [false, ['2 since', '3 since']],
  [true, ['1', '2', '3']],
])('after a failed listing, the next one continues it, or starts over: fromStart: %s', async (fromStart, pages) => {
  const share = shareOfLog();
  let [failsAt, asked] = [0, [] as string[]];
  await using api = await startApi({
    routes: {
      'GET /items': ({ query: parameters }) => {
        const page = Number(parameters.get('page'));
        asked.push(parameters.has('since') ? `${page} since` : String(page));
        return page === failsAt ? { status: 400 } : { body: page > 2 ? [] : some(2, 10 * page) };
      },
    },
  });
  const items = { get: '/items', query, key: '$.id', since, pages: { page: { query: 'page' } } };
  const section = {
    ...bearer,
    baseUrl: api.url,
    streams: { items: { ...items, since: { from: '$.updated_at', order: 'fixed' as const } } },
  };
  const run = async (again?: StartOptions['again']) => {
    asked = [];
    await using running = await start({ ...share, pipelines: [rest('api')(section)], ...(again && { again }) });
    await running.done;
  };
  await run();
  failsAt = 2;
  await run({ pipeline: 'api' });
  failsAt = 0;
  await run({ pipeline: 'api', fromStart });
  expect(asked).toEqual(pages);
});

it('a job that is unfinished, or whose children are, continues instead of being added again, and the run says so', async () => {
  const share = shareOfLog();
  await using api = await startRepos();
  const again = { pipeline: 'api', fromStart: true };
  const counted: unknown[] = [];
  for (const maxRequests of [1, 2, 3, 1, 4, 9]) {
    const { asked, notices } = await work(share, api, { again, maxRequests });
    counted.push([asked.length, notices.filter((notice) => notice.includes(' finished, or '))]);
  }
  const one =
    "api: 1 job of its list isn't finished, or its children aren't. This run continues it and doesn't add it again. To list it again, repeat the command afterward.";
  const two =
    "api: 2 jobs of its list aren't finished, or their children aren't. This run continues them and doesn't add them again. To list them again, repeat the command afterward.";
  // The third run finishes the first list, and adds the job of tags again, because it is finished by then.
  expect(counted).toEqual([
    [1, []],
    [2, [two]],
    [3, [one]],
    [1, []],
    [4, [two]],
    [5, []],
  ]);
});

it('a list that is added again is worked to its end, whenever the process is killed', async () => {
  const share = shareOfLog();
  await using api = await startRepos();
  await work(share, api);
  const whole = 9;
  let written = whole;
  const seen = new Set<number>();
  for (let at = 1, isDone = false; !isDone; at += 1) {
    for (const isDurable of [false, true]) {
      const cut = cutLog(share.log, { at, isDurable });
      const again = { pipeline: 'api', group: 'repos', fromStart: true };
      await using running = await start({ ...share, log: cut.log, pipelines: [sectionOf(api)], again }).catch(() => undefined);
      await running?.done.catch(() => undefined);
      isDone = !cut.isCut;
      await work(share, api);
      const now = (await valuesOf(share, 'api.issues')).length;
      seen.add(now - written);
      written = now;
    }
  }
  expect(seen).toEqual(new Set([0, whole]));
});

it.each([
  [{ pipeline: 'shop' }, 'there is no pipeline shop. There are api.'],
  [{ pipeline: 'api', group: 'repo' }, 'api has no stream repo. It has repos, issues, tags.'],
  [{ pipeline: 'api', group: 'issues' }, 'api.issues is requested for records of repos. To request it again, write api.repos.'],
])('a part that no list has is refused: %j', async (again, reason) => {
  await using api = await startRepos();
  const refused = start({ ...shareOfLog(), pipelines: [sectionOf(api)], again });
  await expect(refused).rejects.toMatchObject({ code: 'HEADGATE_INVALID_OPTION', message: `start: again: ${reason}` });
});

it('`keys` chooses among the jobs of the list', async () => {
  const share = shareOfLog();
  await using api = await startRepos();
  await work(share, api);
  expect((await work(share, api, { again: { pipeline: 'api' }, keys: ['tags'] })).asked).toEqual(['/tags']);
  const refused = start({ ...share, pipelines: [sectionOf(api)], again: { pipeline: 'api', group: 'repos' }, keys: ['tags'] });
  await expect(refused).rejects.toThrow('start: again: the list of api.repos has no job with the key tags.');
});
