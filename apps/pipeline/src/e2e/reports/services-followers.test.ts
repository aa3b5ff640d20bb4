import { bearer } from '@headgate/auth';
import { type FollowerPage, followers as followersSource } from '@headgate/sources/followers';
import { describe, expect, it } from 'vitest';
import { followers } from '../../pipelines/followers.ts';
import { followersYaml, workplace } from '../headgate-process.fixture.ts';
import { type Answer, type Arrival, itemsSection, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

const digits = (from: number, to: number): readonly string[] => Array.from({ length: to - from + 1 }, (_, i) => String(from + i));

// https://github.com/imperatrona/twitter-scraper/issues/34
describe('an empty cursor ends a listing and never starts it again', () => {
  const listing =
    (last: object) =>
    ({ query }: Arrival): Answer => {
      const pages: Readonly<Record<string, object>> = {
        '1001': { ids: digits(51, 100), next_cursor: 1_002, next_cursor_str: '1002' },
        '1002': { ids: digits(101, 120), ...last },
      };
      return { body: pages[query.get('cursor') ?? ''] ?? { ids: digits(1, 50), next_cursor: 1_001, next_cursor_str: '1001' } };
    };

  it.each([
    ['beside a number', { next_cursor: 0, next_cursor_str: '' }, true],
    ['alone', { next_cursor_str: '' }, false],
    ['that is missing', {}, false],
  ])('%s', async (_, last, isEnd) => {
    const clock = steppedClock();
    await using service = await loggingService({ clock, answer: listing(last) });
    const pipeline = followers({
      baseUrl: service.url,
      credentials: [{ name: 'app', bearer: 'a-token' }],
      users: ['alpha'],
      limit: { requests: 1_000, window: '1s' },
      count: 50,
      emit: ['ids'],
    });
    const run = await steppedRun({ clock, services: [service], pipelines: [pipeline] });
    const asked = service.arrivals.map(({ query }) => query.get('cursor'));
    expect(asked.filter((cursor) => cursor !== '1001' && cursor !== '1002')).toEqual(['-1']);
    expect(asked.length).toBeLessThanOrEqual(isEnd ? 3 : 5);
    expect(run.records('followers.ids').map(({ value }) => (value as { id: string }).id)).toEqual(digits(1, 120));
    // Without any cursor, the list may go on, so the job fails visibly.
    expect(run.deadLetters('followers').map(({ code }) => code)).toEqual(isEnd ? [] : ['HEADGATE_UNFIT_ANSWER']);
    for (const { message } of run.deadLetters('followers')) expect(message).toContain('page 3');
    expect(run.endedAt).toBeLessThan(30_000);
  });

  it('in a section', async () => {
    const clock = steppedClock();
    const answer = (arrival: Arrival): Answer => {
      const { ids, next_cursor_str: next } = listing({ next_cursor_str: '' })(arrival).body as { ids: string[]; next_cursor_str: string };
      return { body: { data: ids.map((id) => ({ id })), next_cursor: next } };
    };
    await using service = await loggingService({ clock, answer });
    const pages = { cursor: '$.next_cursor', as: { query: 'cursor' } };
    const streams = { items: { get: '/items', records: '$.data[*]', key: '$.id', pages } };
    const run = await steppedRun({ clock, services: [service], pipelines: [itemsSection(service.url, { streams })] });
    expect(run.outcome).toBe('done');
    expect(service.arrivals.map(({ query }) => query.get('cursor'))).toEqual([null, '1001', '1002']);
    expect(run.records('shop.items').map(({ key }) => key)).toEqual(digits(1, 120));
    expect(run.deadLetters('shop')).toEqual([]);
  });
});

// https://github.com/iSarabjitDhiman/TweeterPy/issues/41
describe('a walk that was left in the middle of a page continues with the rest of that page', () => {
  const PAGES: Readonly<Record<string, readonly [ids: readonly string[], next: string]>> = {
    '-1': [digits(1, 50), '501'],
    '501': [digits(51, 100), '502'],
    '502': [digits(101, 137), '0'],
  };
  const answer = ({ query }: Arrival): Answer => {
    const [ids, next] = PAGES[query.get('cursor') ?? ''] ?? [[], '0'];
    return { body: { ids, next_cursor: Number(next), next_cursor_str: next } };
  };
  const open = async () => {
    const clock = steppedClock();
    const service = await loggingService({ clock, answer });
    const limit = { requests: 1_000, windowMs: 1_000 };
    const source = followersSource({ baseUrl: service.url, credentials: [{ name: 'app', signer: bearer('a-token') }], limit, env: {} });
    const disposeOf = async (): Promise<void> => {
      await source.close();
      await service[Symbol.asyncDispose]();
    };
    const asked = (): readonly (string | null)[] => service.arrivals.map(({ query }) => query.get('cursor'));
    return { source, asked, [Symbol.asyncDispose]: disposeOf };
  };

  it('pushed', async () => {
    await using scene = await open();
    const kept: string[] = [];
    /** The position of the program: it is stored when a page is acknowledged. */
    let position: FollowerPage['next'] | undefined;
    let isFirst = true;
    const walk = async (): Promise<void> => {
      const pages = scene.source.pages({ screenName: 'alpha', count: 50, from: position });
      const project = async (page: FollowerPage): Promise<never[]> => {
        for (const [i, id] of page.ids.entries()) {
          kept.push(id);
          if (isFirst && i === 9) {
            isFirst = false;
            throw new Error('the program crashed');
          }
        }
        position = page.next;
        return [];
      };
      await pages.drain(project, { maxOutstanding: 50 }).forEach(() => undefined);
    };
    await expect(walk()).rejects.toThrow('the program crashed');
    expect(position).toBeUndefined();
    expect(kept).toEqual(digits(1, 10));
    expect(scene.asked()).toEqual(['-1']);
    await walk();
    expect(kept).toEqual([...digits(1, 10), ...digits(1, 137)]);
    expect(scene.asked()).toEqual(['-1', '-1', '501', '502']);
  });

  it('pulled', async () => {
    await using scene = await open();
    const kept: string[] = [];
    let position: FollowerPage['next'] | undefined;
    for await (const page of scene.source.pages({ screenName: 'alpha', count: 50 })) {
      kept.push(...page.ids.slice(0, 10));
      break;
    }
    for await (const page of scene.source.pages({ screenName: 'alpha', count: 50, from: position })) {
      kept.push(...page.ids);
      position = page.next;
    }
    expect(kept).toEqual([...digits(1, 10), ...digits(1, 137)]);
    expect(position).toBe('last');
  });

  it('killed while it writes the first page', async () => {
    await using service = await loggingService({ clock: steppedClock(), answer });
    const config = followersYaml({ url: service.url, users: ['alpha'], emit: '[ids]', more: '  count: 50\n' });
    await using place = await workplace(config);
    for (const afterMs of [0, 3, 7]) {
      const before = service.arrivals.length;
      const run = place.start('run');
      while (service.arrivals.length === before && run.child.exitCode === null) await tick(1);
      await tick(afterMs);
      run.child.kill('SIGKILL');
      await run.ended;
    }
    expect((await place.headgate('run')).code).toBe(0);
    expect((await place.records('followers.ids')).map(({ value }) => value['id'])).toEqual(digits(1, 137));
  });
});

function tick(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
