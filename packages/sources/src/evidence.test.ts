import { expect, test } from 'vitest';
import { MINUTE_MS, ok, play, said } from './scene.fixture.ts';
import type { SourceDefinition } from './source-definition.ts';
import type { Respond } from './testing/scripted-server.ts';

const HOUR_MS = 60 * MINUTE_MS;
const budgets = { minute: { requests: 10, windowMs: MINUTE_MS }, hour: { requests: 50, windowMs: HOUR_MS } };

function headed(headers: Record<string, string>, body = '"good"', status = 200): Respond {
  return (_, response) => response.writeHead(status, headers).end(body);
}

async function used(script: readonly Respond[], definition: Partial<SourceDefinition<string, string>>, queries = script.length) {
  const scene = await play(script, { limit: undefined }, { weights: () => ({}), budgets, ...definition });
  for (let i = 0; i < queries; i += 1) (await scene.query()).credit.release();
  return { scene, used: scene.source.gauges().budgets.map((budget) => budget.used) };
}

test('headers are about the first budget, in any of their spellings', async () => {
  expect((await used([headed({ 'x-ratelimit-remaining': '4', 'x-ratelimit-reset': '30' })], {})).used).toEqual([6, 1]);
  expect((await used([headed({ ratelimit: '"a";r=3;t=30' })], {})).used).toEqual([7, 1]);
});

test('a definition reads from headers and body what responses say, for budgets by name', async () => {
  const evidence: SourceDefinition<string, string>['evidence'] = ({ headers, body }, { query, epochMs, credential: name }) => {
    expect([query, epochMs, name]).toEqual(['/x', Date.UTC(2026, 0, 1), 'a']);
    return {
      hour: { remaining: Number(headers['x-left']), resetInMs: HOUR_MS / 2 },
      minute: body.length > 6 ? { remaining: 1, resetInMs: 1_000 } : undefined,
    };
  };
  expect((await used([headed({ 'x-left': '20' })], { evidence })).used).toEqual([1, 30]);
  expect((await used([headed({ 'x-left': '20' }, '"a long one"')], { evidence })).used).toEqual([9, 30]);
});

test('the definition judges a refusal, too, and not an answer that breaks off; the request counts all the same', async () => {
  const requested: number[] = [];
  const evidence: SourceDefinition<string, string>['evidence'] = ({ status }) => {
    requested.push(status);
    return {};
  };
  const cut: Respond = (_, response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('"', () => response.destroy());
  };
  const refusal = headed({}, JSON.stringify({ kind: 'rate-limited', retryInMs: 0 }), 429);
  const scene = await play([refusal, cut, ok], { limit: undefined }, { weights: () => ({}), budgets, evidence });
  await scene.drive(scene.query(), 1_000);
  expect(scene.events.map(({ outcome }) => outcome)).toEqual(['rate-limited', 'transient', 'ok']);
  expect(requested).toEqual([429, 200]);
  expect(scene.source.gauges().budgets).toMatchObject([{ used: 3 }, { used: 3 }]);
});

test('a definition whose evidence throws, or names an unknown budget, ends that request, which counts', async () => {
  for (const evidence of [() => ({ day: undefined }), () => JSON.parse('{') as never]) {
    const scene = await play([], { limit: undefined }, { weights: () => ({}), budgets, evidence });
    await expect(scene.query()).rejects.toMatchObject({
      code: 'HEADGATE_DEFINITION',
      message: expect.stringContaining('evidence of the toy source threw'),
    });
    expect(scene.source.gauges().budgets).toMatchObject([{ used: 1 }, { used: 1 }]);
    expect(scene.credits.outstanding).toBe(0);
  }
});

test('a response that reports its cost: free ones are free at once, expensive ones count in full', async () => {
  const costing = (cost: object) => said('ok', { value: 'good', cost });
  expect((await used([costing({ hour: 0 })], {})).used).toEqual([1, 0]);
  expect((await used([costing({ hour: 7 }), costing({ minute: 2, hour: 3 })], {})).used).toEqual([3, 10]);
  const left = headed({ 'x-left': '40' }, JSON.stringify({ kind: 'ok', value: 'good', cost: { hour: 10 } }));
  const evidence: SourceDefinition<string, string>['evidence'] = () => ({ hour: { remaining: 40, resetInMs: HOUR_MS / 2 } });
  expect((await used([left], { evidence })).used, 'no other client was seen').toEqual([1, 10]);
});

test('a request that waits goes as soon as the one before it turns out to be free', async () => {
  const free = said('ok', { value: 'good', cost: { rate: 0 } });
  const scene = await play([free, free, ok], { limit: { requests: 1, windowMs: HOUR_MS } });
  for (const delivery of await Promise.all([scene.query(), scene.query(), scene.query()])) delivery.credit.release();
  expect(scene.server.requests).toHaveLength(3);
  expect(scene.clock.monotonicMs()).toBe(0);
});

test.each([{ mnoth: 1 }, { rate: -1 }, { rate: 0.5 }])('a cost of %j is a fault of the definition', async (cost) => {
  const scene = await play([said('ok', { value: 'good', cost })]);
  await expect(scene.query()).rejects.toMatchObject({ code: 'HEADGATE_CLASSIFY', cause: expect.any(RangeError) });
});

test('evidence of nothing, in whatever form, costs no credential', async () => {
  const scene = await play([], {}, { evidence: () => ({ rate: null as never }) });
  await expect(scene.query()).resolves.toMatchObject({ value: 'good' });
  await expect(scene.query()).resolves.toMatchObject({ value: 'good' });
});
