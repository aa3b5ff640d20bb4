import { describe, expect, test } from 'vitest';
import { credential, idle, MINUTE_MS, ok, play, said, type Scene } from './scene.fixture.ts';
import type { Respond } from './testing/scripted-server.ts';

const three = ['a', 'b', 'c'].map(credential);
const hidden = said('not-found', { perCredential: true });
const forbidden = said('fatal', { perCredential: true });

function attempts({ events }: Scene): readonly string[] {
  return events.map(({ credential: name, outcome }) => `${name} ${outcome}`);
}

function members({ source }: Scene): readonly (string | undefined)[] {
  return source.gauges().budgets.map(({ credential: name }) => name);
}

describe.each([
  { kind: 'not-found', refusal: hidden, outcome: 'gone' },
  { kind: 'fatal', refusal: forbidden, outcome: 'fatal' },
])('a refusal ($kind) that may concern one credential', ({ refusal, outcome }) => {
  test('is tried with each other one until one gets the resource, and no credential is removed', async () => {
    const scene = await play([refusal, refusal, ok, ok], { credentials: three });
    expect((await scene.query()).value).toBe('good');
    expect(attempts(scene)).toEqual(['a unauthorized', 'b unauthorized', 'c ok']);
    expect(scene.events[0]?.reason).toBe('toy Headgate requests it with another credential.');
    expect(members(scene)).toEqual(['a', 'b', 'c']);
    expect((await scene.query()).value).toBe('good');
    expect(attempts(scene).at(-1)).toBe('a ok');
  });

  test('ends the request if each of them got it, and says which', async () => {
    const scene = await play([], { credentials: three, otherwise: refusal });
    await expect(scene.query()).rejects.toMatchObject({ endsSource: false, message: 'toy Headgate requested it with each of a, b, c.' });
    expect(attempts(scene)).toEqual(['a unauthorized', 'b unauthorized', `c ${outcome}`]);
    expect(members(scene)).toEqual(['a', 'b', 'c']);
  });

  test('ends the request at once if there is no other credential', async () => {
    const scene = await play([], { otherwise: refusal });
    await expect(scene.query()).rejects.toMatchObject({ message: 'toy' });
    expect(attempts(scene)).toEqual([`a ${outcome}`]);
  });

  test('is tried only with the credentials that may send the request', async () => {
    const scene = await play([], { credentials: three, otherwise: refusal }, { credentialsOf: () => ['c', 'a'] });
    await expect(scene.query()).rejects.toMatchObject({ message: expect.stringMatching(/with each of (a, c|c, a)\.$/) as string });
    expect(scene.server.requests).toHaveLength(2);
  });
});

test('the request waits for the budget of the other credential, and shows it', async () => {
  const limit = { requests: 1, windowMs: MINUTE_MS };
  const scene = await play([ok, hidden], { credentials: three.slice(0, 2), limit }, { items: () => 1, itemsOf: () => 1 });
  await scene.query('/first');
  const second = scene.query('/second');
  await scene.requests(2);
  await expect.poll(() => scene.source.gauges().queries).toMatchObject([{ subject: '/second', state: 'queued', credentials: ['a'] }]);
  expect((await scene.drive(second, MINUTE_MS / 4)).value).toBe('good');
  expect(attempts(scene)).toEqual(['a ok', 'b unauthorized', 'a ok']);
});

test('if the last other credential is refused during the wait, the request ends with its own refusal', async () => {
  const limit = { requests: 1, windowMs: MINUTE_MS };
  let refuse = (): void => undefined;
  const held: Respond = (request, response) => void (refuse = () => said('unauthorized')(request, response));
  const scene = await play([held, hidden], { credentials: three.slice(0, 2), limit }, { items: () => 1, itemsOf: () => 1 });
  const first = scene.query('/first');
  await scene.requests(1);
  const second = scene.query('/second').catch((error: unknown) => error);
  await scene.requests(2);
  await expect.poll(() => scene.source.gauges().queries[0]?.credentials).toEqual(['a']);
  refuse();
  expect(await second).toMatchObject({ code: 'HEADGATE_TOY', credential: 'b', message: 'toy' });
  await scene.drive(first, MINUTE_MS / 4);
});

test('an other credential that is refused itself leaves the pool, and the request ends with its own refusal', async () => {
  const scene = await play([hidden, said('unauthorized')], { credentials: three.slice(0, 2) });
  await expect(scene.query()).rejects.toMatchObject({ credential: 'a', endsSource: false });
  expect(attempts(scene)).toEqual(['a unauthorized', 'b unauthorized']);
  expect(members(scene)).toEqual(['a']);
});

test('other failures on the way are retried with credentials that were not refused', async () => {
  const scene = await play([hidden, said('transient'), said('rate-limited', { retryInMs: 1_000 }), ok], { credentials: three });
  expect((await scene.drive(scene.query(), 1_000)).value).toBe('good');
  expect(scene.events.slice(1).map(({ credential: name }) => name)).not.toContain('a');
});

test('if the only credential that is left fails for this request, the request ends after its retry time', async () => {
  const otherwise: Respond = (request, response) => {
    const isOfA = request.headers.authorization === 'Bearer token-of-a';
    (request.url !== '/x' ? ok : isOfA ? said('transient') : hidden)(request, response);
  };
  const credentialsOf = (path: string): readonly string[] => (path === '/x' ? ['a', 'b'] : ['b']);
  const options = { credentials: three.slice(0, 2), otherwise, retryForMs: 5_000, waitOutOutages: true };
  const scene = await play([], options, { credentialsOf, items: () => 1, itemsOf: () => 1 });
  let ended: unknown;
  scene.query('/x').catch((error: unknown) => {
    ended = error;
  });
  for (let i = 0; i < 60 && ended === undefined; i += 1) {
    (await scene.query('/y')).credit.release();
    await scene.clock.advance(1_000);
    await idle();
  }
  expect(ended).toMatchObject({ code: 'HEADGATE_GAVE_UP', credential: 'a' });
});
