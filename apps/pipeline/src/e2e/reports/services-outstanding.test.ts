import { bearer } from '@headgate/auth';
import { followers as followersSource } from '@headgate/sources/followers';
import { describe, expect, it } from 'vitest';
import { followers } from '../../pipelines/followers.ts';
import { type Answer, type Arrival, loggingService, steppedClock, steppedRun } from './stepped-run.fixture.ts';

const LIMIT = { requests: 1_000_000, windowMs: 1_000 };

/** A service with one list of pages, and a source that walks it. */
async function walking({ pages, pageSize }: { readonly pages: number; readonly pageSize: number }) {
  const first = 10 ** 9;
  let asked: () => void = () => undefined;
  const answer = ({ query }: Arrival): Answer => {
    asked();
    const cursor = Number(query.get('cursor'));
    const page = cursor === -1 ? 0 : cursor;
    const ids = Array.from({ length: pageSize }, (_, i) => String(first + page * pageSize + i));
    return { body: { ids, next_cursor: page + 1 === pages ? 0 : page + 1 } };
  };
  const service = await loggingService({ clock: steppedClock(), answer });
  const source = followersSource({ baseUrl: service.url, credentials: [{ name: 'app', signer: bearer('t') }], limit: LIMIT, env: {} });
  return {
    service,
    walk: source.pages({ screenName: 'alpha', count: pageSize }),
    idAt: (i: number) => String(first + i),
    /** Resolves when the source waits for room, or has requested every page. */
    waits: () =>
      expect
        .poll(
          () =>
            service.arrivals.length === pages || source.gauges().queries.some((one) => one.state === 'queued' && one.for === 'downstream'),
        )
        .toBe(true),
    onAsked(call: () => void) {
      asked = call;
    },
    async [Symbol.asyncDispose]() {
      await source.close();
      await service[Symbol.asyncDispose]();
    },
  };
}

// https://github.com/ReactiveX/rxjs/issues/7334
describe('pages whose work ends at once, after one that takes its time', () => {
  it.each([1, 4])('are all processed: %i outstanding', async (maxOutstanding) => {
    const PAGES = 300;
    await using scene = await walking({ pages: PAGES, pageSize: 1 });
    let handled = 0;
    const project = (): readonly never[] | Promise<never[]> => {
      handled += 1;
      return handled > 1 ? [] : scene.waits().then(() => []);
    };
    await scene.walk.drain(project, { maxOutstanding }).forEach(() => undefined);
    expect(handled).toBe(PAGES);
  });

  it('are all processed by a pipeline with a job for each', async () => {
    const clock = steppedClock();
    await using service = await loggingService({ clock, answer: () => ({ body: { ids: [], next_cursor: 0 } }) });
    const users = Array.from({ length: 200 }, (_, i) => `u${i + 1}`);
    const pipeline = followers({
      baseUrl: service.url,
      credentials: [{ name: 'app', bearer: 't' }],
      users,
      limit: { requests: 1_000_000, window: '1s' },
    });
    const run = await steppedRun({ clock, services: [service], pipelines: [pipeline] });
    expect(run.outcome).toBe('done');
    expect(service.arrivals).toHaveLength(users.length);
    expect(run.snapshot.pipelines['followers']?.walks).toEqual({ started: users.length, completed: users.length, failed: 0 });
  });
});

// https://github.com/rxRust/rxRust/issues/236
describe('a source that is faster than its consumer', () => {
  it('has no more than the outstanding items fetched and not processed', async () => {
    const [PAGES, PAGE_SIZE] = [20, 5_000];
    await using scene = await walking({ pages: PAGES, pageSize: PAGE_SIZE });
    let [finished, most, next] = [0, 0, 0];
    scene.onAsked(() => (most = Math.max(most, scene.service.arrivals.length - finished)));
    const project = async ({ ids }: { readonly ids: readonly string[] }): Promise<never[]> => {
      await scene.waits();
      for (const id of ids) expect(id).toBe(scene.idAt(next++));
      finished += 1;
      return [];
    };
    await scene.walk.drain(project, { maxOutstanding: 20_000 }).forEach(() => undefined);
    expect(next).toBe(PAGES * PAGE_SIZE);
    expect(most).toBe(4);
  });

  it('stands still while the consumer does', async () => {
    await using scene = await walking({ pages: 200, pageSize: 5_000 });
    let handled = 0;
    const project = (): Promise<never[]> => (++handled === 3 ? new Promise(() => undefined) : Promise.resolve([]));
    const walk = scene.walk.drain(project, { maxOutstanding: 20_000 }).subscribe();
    await expect.poll(() => handled).toBe(3);
    await scene.waits();
    expect(scene.service.arrivals).toHaveLength(6);
    walk.unsubscribe();
  });
});
