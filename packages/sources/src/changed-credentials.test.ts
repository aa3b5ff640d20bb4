import type { Journal } from '@headgate/throttle';
import { describe, expect, test } from 'vitest';
import { requestAllowance } from './request-allowance.ts';
import { credential, MINUTE_MS, ok, play, said, thrown } from './scene.fixture.ts';
import type { Respond } from './testing/scripted-server.ts';

const limit = { requests: 1, windowMs: MINUTE_MS };
const each = { items: () => 1, itemsOf: () => 1 };
const ofShops = { ...each, credentialsOf: (path: string) => [path.split('/')[1] ?? ''] };
const credentials = ['a', 'b'].map(credential);

function gate() {
  const held: ((then?: Respond) => void)[] = [];
  const respond: Respond = (request, response) => void held.push((then = ok) => then(request, response));
  return { held, respond };
}

test('a credential that is added carries what waits at once', async () => {
  const scene = await play([], { limit }, each);
  await scene.query('/1');
  const waiting = scene.query('/2');
  await scene.clock.settle();
  scene.source.addCredential(credential('b'));
  await waiting;
  expect(scene.events.map((event) => event.credential)).toEqual(['a', 'b']);
  expect(scene.source.slots().map((one) => one.credential)).toEqual(['a', 'b']);
});

test('a removed credential gets no further request; those in flight end, and others carry what waits', async () => {
  const { held, respond } = gate();
  const scene = await play([], { credentials, concurrency: 1, otherwise: respond }, each);
  const all = ['/1', '/2', '/3'].map((path) => scene.query(path));
  await scene.requests(2);
  scene.source.removeCredential('a');
  scene.source.removeCredential('nobody');
  held[0]?.();
  held[1]?.();
  await scene.requests(3);
  held[2]?.();
  await Promise.all(all);
  expect(scene.events.map((event) => event.credential)).toEqual(['a', 'b', 'b']);
});

test('requests that only a removed credential may send end, until it is added again', async () => {
  const scene = await play([], { credentials, limit }, ofShops);
  await scene.query('/a/1');
  const waiting = scene.query('/a/2');
  const ended = expect(waiting).rejects.toMatchObject({
    code: 'HEADGATE_NO_CREDENTIAL',
    endsSource: false,
    message:
      "/a/2: no credential is left to send this request: a can't be used any more. toy: the credential a was removed. Add one that may send the request.",
  });
  await scene.clock.settle();
  scene.source.removeCredential('a');
  await ended;
  await scene.query('/b/1');
  scene.source.addCredential(credential('a'));
  const later = scene.query('/a/3');
  await scene.clock.advance(MINUTE_MS / 2);
  // The new credential continues the budget of the removed one.
  expect(scene.server.requests).toHaveLength(2);
  await scene.drive(later, MINUTE_MS / 4);
  expect(scene.clock.monotonicMs()).toBeGreaterThanOrEqual(MINUTE_MS);
});

test('a source without a credential refuses requests, and works again with a new one', async () => {
  const scene = await play([], { limit }, each);
  scene.source.removeCredential('a');
  await expect(scene.query('/1')).rejects.toMatchObject({ code: 'HEADGATE_NO_CREDENTIAL', endsSource: false });
  scene.source.addCredential(credential('b'));
  await scene.query('/2');
  expect(scene.events.map((event) => event.credential)).toEqual(['b']);
});

test('a late refusal of a removed credential says nothing about the one that has its name now', async () => {
  const { held, respond } = gate();
  const scene = await play([respond], { limit: { requests: 5, windowMs: MINUTE_MS } }, each);
  const first = scene.query('/1');
  await scene.requests(1);
  scene.source.removeCredential('a');
  scene.source.addCredential({ ...credential('new'), name: 'a' });
  held[0]?.(said('unauthorized'));
  await first;
  expect(scene.server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer token-of-a', 'Bearer token-of-new']);
});

describe('a credential with the secret of a removed one', () => {
  const renamed = { ...credential('a'), name: 'c' };

  test('continues its budgets, because the service counts both as one', async () => {
    const scene = await play([], { credentials, limit }, each);
    for (const path of ['/1', '/2']) await scene.query(path);
    scene.source.removeCredential('a');
    scene.source.addCredential(renamed);
    const waiting = scene.query('/3');
    await scene.clock.advance(MINUTE_MS / 2);
    expect(scene.server.requests).toHaveLength(2);
    await scene.drive(waiting, MINUTE_MS / 4);
    expect(scene.clock.monotonicMs()).toBeGreaterThanOrEqual(MINUTE_MS);
    await scene.drive(Promise.all(['/4', '/5'].map((path) => scene.query(path))), MINUTE_MS / 4);
    expect(new Set(scene.events.map((event) => `${event.credential} ${event.outcome}`))).toEqual(new Set(['a ok', 'b ok', 'c ok']));
  });

  test('sends none of the requests that had a permit before it continued those budgets', async () => {
    const scene = await play([], { limit: { requests: 2, windowMs: MINUTE_MS } }, each);
    await scene.query('/1');
    scene.source.removeCredential('a');
    scene.source.addCredential(renamed);
    const both = Promise.all(['/2', '/3'].map((path) => scene.query(path)));
    await scene.requests(2);
    await scene.clock.advance(MINUTE_MS / 2);
    expect(scene.server.requests).toHaveLength(2);
    await scene.drive(both, MINUTE_MS / 4);
    expect(scene.events.map((event) => `${event.credential} ${event.outcome}`)).toEqual(['a ok', 'c ok', 'c ok']);
  });

  test('that was removed for it stays the only one, and is used as before', async () => {
    // The attempt with the other credential isn't sent, and so doesn't use one of the three requests.
    const allowance = requestAllowance({ max: 3, onUsedUp: () => undefined });
    const scene = await play([], { credentials: [credential('a'), renamed], allowance }, each);
    for (const path of ['/1', '/2', '/3']) await scene.query(path);
    expect(scene.events.map((event) => `${event.credential} ${event.outcome}`)).toEqual(['a ok', 'c unauthorized', 'a ok', 'a ok']);
  });
});

test('a credential that is added continues with what the journal knows of it', async () => {
  const restored = [{ name: 'rate', windowMs: MINUTE_MS, busy: [[10_000, 1]] as const }];
  const journal: Journal = {
    leaseMs: 1_000,
    open: (name) => ({
      restored: name === 'b' ? restored : undefined,
      granted: async () => await Promise.resolve(),
      settled: () => undefined,
      flush: () => undefined,
    }),
  };
  const scene = await play([], { limit, journal }, each);
  scene.source.addCredential(credential('b'));
  expect(scene.source.gauges().budgets.map(({ credential: of, used }) => [of, used])).toEqual([
    ['a', 0],
    ['b', 1],
  ]);
});

test.each([
  ['the name of another', credential('a'), 'named differently: "a" occurs twice'],
  [
    'a limit of nothing',
    { ...credential('b'), budgets: { rate: { requests: 0, windowMs: 1 } } },
    'credentials b: limit.requests must be a whole number from 1, got 0',
  ],
])('a credential with %s is refused', async (_, added, words) => {
  const scene = await play([], { limit }, each);
  const error = thrown(() => scene.source.addCredential(added));
  expect(error).toMatchObject({ code: 'HEADGATE_INVALID_OPTION', message: expect.stringContaining(words) as string });
  await scene.query('/1');
});
