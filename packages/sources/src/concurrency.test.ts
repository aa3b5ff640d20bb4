import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { credential, ok, play, said } from './scene.fixture.ts';
import { reset } from './testing/hostile-responses.fixture.ts';
import type { Respond } from './testing/scripted-server.ts';

function gate() {
  const held: { readonly carrier: string; readonly answer: () => void }[] = [];
  const respond =
    (then: Respond): Respond =>
    (request, response) =>
      void held.push({ carrier: request.headers.authorization ?? '', answer: () => then(request, response) });
  return { held, respond };
}

const each = { items: () => 1, itemsOf: () => 1 };

test('a credential has at most `concurrency` requests in flight, and the gauges show who waits for one', async () => {
  const { held, respond } = gate();
  const scene = await play([], { concurrency: 2, otherwise: respond(ok) }, each);
  const all = Array.from({ length: 5 }, (_, i) => scene.query(`/${i}`));
  await scene.requests(2);
  await turn();
  expect(scene.source.gauges().queries).toMatchObject([
    ...[2, 3, 4].map((i) => ({ subject: `/${i}`, state: 'queued', for: 'concurrency' })),
    ...[0, 1].map((i) => ({ subject: `/${i}`, state: 'requesting', credential: 'a' })),
  ]);
  for (let sent = 3; sent <= 5; sent += 1) {
    held.shift()?.answer();
    await scene.requests(sent);
    expect(held).toHaveLength(2);
  }
  for (const { answer } of held) answer();
  expect(await Promise.all(all)).toHaveLength(5);
});

test('a request that pauses before a retry leaves its place to another', async () => {
  const { held, respond } = gate();
  const scene = await play([said('transient')], { concurrency: 1, random: () => 0.5, otherwise: respond(ok) }, each);
  const first = scene.query('/first');
  const second = scene.query('/second');
  await scene.requests(2);
  await scene.clock.advance(10_000);
  expect(scene.server.requests.map(({ url }) => url)).toEqual(['/first', '/second']);
  expect(scene.source.gauges().queries).toMatchObject([
    { subject: '/first', state: 'queued', for: 'concurrency' },
    { subject: '/second', state: 'requesting' },
  ]);
  held.shift()?.answer();
  await second;
  await scene.requests(3);
  held.shift()?.answer();
  await first;
});

test('a request that is aborted or fails frees its place', async () => {
  const { held, respond } = gate();
  const scene = await play([respond(ok), respond(said('fatal')), respond(reset)], { concurrency: 1, otherwise: respond(ok) }, each);
  const abort = new AbortController();
  const aborted = scene.query('/aborted', abort.signal).catch(() => 'aborted');
  await scene.requests(1);
  abort.abort();
  expect(await aborted).toBe('aborted');
  const fatal = scene.query('/fatal').catch(() => 'failed');
  await scene.requests(2);
  held[1]?.answer();
  expect(await fatal).toBe('failed');
  const reconnected = scene.query('/reset');
  await scene.requests(3);
  held[2]?.answer();
  await expect.poll(() => scene.events.some(({ subject, outcome }) => subject === '/reset' && outcome === 'transient')).toBe(true);
  await scene.clock.advance(10_000);
  await scene.requests(4);
  held[3]?.answer();
  expect((await reconnected).value).toBe('good');
});

test('a property: each credential always has as many requests in flight as it may, and never one more', () =>
  fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 3 }),
      fc.integer({ min: 1, max: 3 }),
      fc.array(fc.nat(), { minLength: 1, maxLength: 12 }),
      async (concurrency, credentials, choices) => {
        const { held, respond } = gate();
        const names = ['a', 'b', 'c'].slice(0, credentials);
        const scene = await play([], { concurrency, credentials: names.map(credential), otherwise: respond(ok) }, each);
        const all = choices.map((_, i) => scene.query(`/${i}`));
        let sent = Math.min(choices.length, concurrency * credentials);
        for (const choice of choices) {
          await scene.requests(sent);
          const counts = Map.groupBy(held, ({ carrier }) => carrier);
          for (const [carrier, requests] of counts) expect(requests.length, carrier).toBeLessThanOrEqual(concurrency);
          held.splice(choice % held.length, 1)[0]?.answer();
          sent = Math.min(choices.length, sent + 1);
        }
        await Promise.all(all);
      },
    ),
    { numRuns: 25 },
  ));

test('after a refusal, one request at a time finds out whether the service takes requests again', async () => {
  const { held, respond } = gate();
  const refuse = said('rate-limited', { retryInMs: 5_000 });
  const script = [refuse, refuse, refuse, respond(refuse), respond(ok)];
  const scene = await play(script, { otherwise: respond(ok), limit: { requests: 100, windowMs: 1_000 } }, each);
  const all = Array.from({ length: 3 }, (_, i) => scene.query(`/${i}`));
  await expect.poll(() => scene.events.length).toBe(3);
  for (const probe of [4, 5]) {
    await scene.clock.advance(5_000);
    await scene.requests(probe);
    await turn();
    expect(held).toHaveLength(1);
    held.shift()?.answer();
    await expect.poll(() => scene.events.length).toBe(probe);
  }
  // The second probe was accepted, so the others start at once.
  await scene.requests(7);
  for (const { answer } of held) answer();
  expect(await Promise.all(all)).toHaveLength(3);
});
