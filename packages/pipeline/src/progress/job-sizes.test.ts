import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { shelfPaging, shelves, shelvesApi } from '../testing/shelves.fixture.ts';
import { walk } from '../jobs/walk.ts';
import { LaneBacklog, type JobSize, jobSizes } from './job-sizes.ts';

const size = fc.oneof(
  fc.record({ kind: fc.constant('walk' as const), page: fc.integer({ min: 1, max: 9 }), pages: fc.option(fc.integer({ min: 1, max: 9 })) }),
  fc.record({ kind: fc.constant('lookup' as const), keys: fc.nat(20) }),
  fc.constant({ kind: 'malformed' as const }),
);
type Size = typeof size extends fc.Arbitrary<infer One> ? One : never;

function sizeOf(one: Size | undefined): JobSize | undefined {
  if (one === undefined || one.kind === 'malformed') return undefined;
  if (one.kind === 'lookup') return { ...one, size: 7 };
  const { page, pages } = one;
  return { kind: 'walk', key: 'k', page, whole: true, ...(pages !== null && { pages }) };
}

/** Creates a topic to which the test can add requests during a read: each record takes a turn of the microtask queue. */
function topic() {
  const requests: Size[] = [];
  let now = 0;
  let reads = 0;
  const read = async function* (from: number) {
    reads += 1;
    for (let offset = from; offset < requests.length; offset += 1) {
      await Promise.resolve();
      yield { offset, value: null };
    }
  };
  const backlog = new LaneBacklog(({ offset }) => sizeOf(requests[offset]), read, { monotonicMs: () => now });
  return {
    requests,
    backlog,
    get reads() {
      return reads;
    },
    wait: (ms: number) => (now += ms),
    settle: async () => await new Promise((resolve) => setImmediate(resolve)),
  };
}

function counted(rest: readonly Size[]) {
  const walks = rest.filter((one) => one.kind === 'walk');
  const left = walks.flatMap(({ page, pages }) => (pages === null ? [] : [Math.max(1, pages - page + 1)]));
  return {
    walks: walks.length,
    unknown: walks.length - left.length,
    pages: left.reduce((sum, pages) => sum + pages, 0),
    keys: rest.reduce((sum, one) => sum + (one.kind === 'lookup' ? one.keys : 0), 0),
  };
}

describe('jobsBehind', () => {
  it('counts requests that aren’t taken, in whatever order they arrive, are counted or are taken', async () => {
    const step = fc.oneof(
      { weight: 3, arbitrary: fc.record({ do: fc.constant('add' as const), one: size }) },
      { weight: 2, arbitrary: fc.record({ do: fc.constantFrom('take' as const, 'look' as const, 'turn' as const) }) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60, size: 'max' }), async (steps) => {
        const { requests, backlog, wait, settle } = topic();
        let taken = 0;
        const look = (): void => {
          wait(5_000);
          backlog.countAhead();
        };
        for (const one of steps) {
          if (one.do === 'add') requests.push(one.one);
          if (one.do === 'turn') await Promise.resolve();
          if (one.do === 'look') look();
          if (one.do === 'take' && taken < requests.length) {
            backlog.remove({ offset: taken, value: null });
            taken += 1;
          }
        }
        await settle();
        look();
        await settle();
        const { walks, unknown, pages, keys, isCounted } = backlog;
        expect({ walks, unknown, pages, keys, isCounted }).toEqual({ ...counted(requests.slice(taken)), isCounted: true });
      }),
    );
  });

  it('learns the number of keys per request from the first lookup', () => {
    const { requests, backlog } = topic();
    requests.push({ kind: 'lookup', keys: 5 });
    backlog.remove({ offset: 0, value: null });
    expect(backlog.keysPerRequest).toBe(7);
  });

  it('reports at least one more walk during the first count', async () => {
    const { requests, backlog, settle } = topic();
    requests.push({ kind: 'walk', page: 1, pages: 3 }, { kind: 'lookup', keys: 5 });
    expect([backlog.isCounted, backlog.unknown, backlog.keysPerRequest]).toEqual([true, 0, 1]);
    backlog.countAhead();
    expect([backlog.isCounted, backlog.unknown]).toEqual([false, 1]);
    await settle();
    expect([backlog.isCounted, backlog.unknown, backlog.walks, backlog.keys, backlog.keysPerRequest]).toEqual([true, 0, 1, 5, 7]);
  });

  it('continues reading after 5 s where it stopped, once at a time', async () => {
    const scene = topic();
    const { requests, backlog, wait, settle } = scene;
    requests.push({ kind: 'lookup', keys: 5 });
    backlog.countAhead();
    wait(5_000);
    backlog.countAhead();
    await settle();
    expect(scene.reads).toBe(1);
    wait(4_999);
    backlog.countAhead();
    await settle();
    expect(scene.reads).toBe(1);
    requests.push({ kind: 'walk', page: 1, pages: null });
    wait(1);
    backlog.countAhead();
    expect(backlog.isCounted).toBe(true);
    await settle();
    expect([scene.reads, backlog.keys, backlog.unknown]).toEqual([2, 5, 1]);
  });

  it("continues if its topic couldn't be read", async () => {
    let now = 0;
    let reads = 0;
    const read = async function* (from: number) {
      reads += 1;
      if (reads === 2) throw new Error('no broker');
      yield { offset: await Promise.resolve(from), value: null };
    };
    const backlog = new LaneBacklog(() => ({ kind: 'lookup', keys: 2, size: 2 }), read, { monotonicMs: () => now });
    for (let i = 0; i < 3; i += 1) {
      backlog.countAhead();
      await new Promise((resolve) => setImmediate(resolve));
      now += 5_000;
    }
    expect([reads, backlog.keys, backlog.isCounted]).toEqual([3, 4, true]);
  });
});

describe('jobSizes', () => {
  const request = (shelf: string): string => JSON.stringify({ shelf });
  const shelfOf = (job: unknown): string => (job as { readonly shelf: string }).shelf;
  const sizes = jobSizes(
    shelves(() => walk({ source: shelvesApi(), paging: shelfPaging, records: () => [] }))({}),
    {
      size: ({ record: { offset }, request: job, key }) =>
        shelfOf(job) === 'keys'
          ? { kind: 'lookup', keys: 3, size: 2 }
          : { kind: 'walk', page: offset, whole: key !== 'some', ...(key !== 'bert' && { last: { pages: 8, items: 0 } }) },
    },
    () => undefined,
  );

  it('expects as many pages as the last walk of the key had, and no number for a walk of some pages', () => {
    const rest = { kind: 'walk', page: 2 };
    expect(sizes({ offset: 2, value: request('ada') })).toEqual({ ...rest, whole: true, key: 'ada', pages: 8 });
    expect(sizes({ offset: 2, value: request('bert') })).toEqual({ ...rest, whole: true, key: 'bert' });
    expect(sizes({ offset: 2, value: request('some') })).toEqual({ ...rest, whole: false, key: 'some' });
  });

  it('knows the keys of a lookup, and nothing of a malformed request', () => {
    expect(sizes({ offset: 2, value: request('keys') })).toEqual({ kind: 'lookup', keys: 3, size: 2 });
    expect(sizes({ offset: 2, value: '{}' })).toBeUndefined();
  });
});
