import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { rateBudget } from '../budget/rate-budget.ts';
import { virtualClock } from '../testing/index.ts';
import { failed, limitedFetch, limiter, refused } from './index.ts';

function perSecond(limit: number) {
  const clock = virtualClock();
  return { clock, api: limiter({ budgets: [rateBudget({ limit, windowMs: 1_000, guardMs: 0, clock })], clock }) };
}

describe('limitedFetch', () => {
  it('starts requests as the budget permits, and sends one again when its Retry-After is over', async () => {
    const { clock, api } = perSecond(2);
    const sent: (readonly [ms: number, address: string, body: unknown])[] = [];
    const get = limitedFetch(api, {
      fetch: async (input, init) => {
        const isRequest = input instanceof Request;
        const [atMs, isFirst] = [clock.monotonicMs(), isRequest && !sent.some(([, address]) => address === input.url)];
        sent.push([atMs, isRequest ? input.url : input.toString(), isRequest ? input.text() : init?.body]);
        return isFirst ? new Response('no', { status: 429, headers: { 'retry-after': '2.5' } }) : new Response('yes');
      },
    });
    const request = new Request('http://127.0.0.1/a', { method: 'POST', body: 'once' });
    const answers = Promise.all([
      get(request),
      get('http://127.0.0.1/b', { method: 'POST', body: 'b' }),
      get(new URL('http://127.0.0.1/c')),
    ]);
    await clock.advance(10_000);
    expect((await answers).map(({ status }) => status)).toEqual([200, 200, 200]);
    const bodies = await Promise.all(sent.map(async ([, address, body]) => [address.at(-1), await body]));
    expect(bodies.toSorted()).toEqual([
      ['a', 'once'],
      ['a', 'once'],
      ['b', 'b'],
      ['c', undefined],
    ]);
    expect(sent.slice(2).every(([ms]) => ms >= 2_500)).toBe(true);
  });

  it('returns every other response, and rejects as fetch does', async () => {
    const { clock, api } = perSecond(5);
    const down = limitedFetch(api, { fetch: () => Promise.resolve(new Response(null, { status: 503 })) });
    const gone = limitedFetch(api, { fetch: () => Promise.reject(new TypeError('fetch failed')) });
    const both = Promise.allSettled([down('http://127.0.0.1/'), gone('http://127.0.0.1/')]);
    await clock.advance(1);
    expect(await both).toMatchObject([{ value: { status: 503 } }, { reason: { message: 'fetch failed' } }]);
  });

  it.each<[string, (signal: AbortSignal) => Parameters<typeof fetch>]>([
    ['in its options', (signal) => ['http://127.0.0.1/', { signal }]],
    ['of its request', (signal) => [new Request('http://127.0.0.1/', { signal })]],
  ])('stops waiting when the signal %s is aborted', async (_, argumentsOf) => {
    const { clock, api } = perSecond(1);
    let sent = 0;
    const get = limitedFetch(api, { fetch: () => Promise.resolve(new Response(String((sent += 1)))) });
    await get('http://127.0.0.1/');
    const abort = new AbortController();
    const waits = get(...argumentsOf(abort.signal));
    abort.abort(new Error('enough'));
    await expect(waits).rejects.toThrow('enough');
    await clock.advance(5_000);
    expect(sent).toBe(1);
  });
});

describe('wrap', () => {
  it('calls a function with its arguments as the budget permits, and again if it was refused', async () => {
    const { clock, api } = perSecond(1);
    const { wrap } = api;
    const calls: [ms: number, isbn: string, page: number][] = [];
    const lookUp = wrap((isbn: string, page: number) => {
      calls.push([clock.monotonicMs(), isbn, page]);
      if (calls.length === 1) return refused({ retryInMs: 3_000 });
      return isbn === 'c' ? failed(new Error('unknown')) : `${isbn}${page}`;
    });
    const ends = Promise.allSettled([lookUp('a', 1), lookUp('b', 2), lookUp('c', 3)]);
    await clock.advance(20_000);
    expect(await ends).toMatchObject([{ value: 'a1' }, { value: 'b2' }, { reason: { message: 'unknown' } }]);
    expect(calls.map(([ms]) => ms)).toEqual([0, 3_000, 4_000, 5_000]);
  });
});

it('needs no rxjs', () => {
  const seen = new Set<string>();
  const follow = (file: URL): void => {
    if (seen.has(file.href)) return;
    seen.add(file.href);
    const text = readFileSync(file, 'utf8');
    for (const [, name = ''] of text.matchAll(/^(?:import|export) (?!type )[^;]*? from '([^']+)';$/gms)) {
      expect(name).toMatch(/^(?:\.|node:)/);
      if (name.startsWith('.')) follow(new URL(name, file));
    }
  };
  follow(new URL('index.ts', import.meta.url));
  expect(seen.size).toBeGreaterThan(5);
});
