import { bearer } from '@headgate/auth';
import { describe, expect, test } from 'vitest';
import { requestAllowance } from './request-allowance.ts';
import { credential, MINUTE_MS, ok, play, said } from './scene.fixture.ts';

const limit = { requests: 1, windowMs: MINUTE_MS };
const each = { items: () => 1, itemsOf: () => 1 };

describe('a credential with the secret of one that is no longer used', () => {
  test('sends nothing, because the service counts both as one', async () => {
    let secret = 'token-of-b';
    const credentials = [credential('a'), { name: 'b', signer: bearer(() => secret) }, credential('c')];
    const scene = await play([ok, ok, ok, said('unauthorized')], { credentials, limit }, each);
    for (const path of ['/1', '/2', '/3']) await scene.query(path);
    // The service refuses `a`, and later the secret of `b` changes to that of `a`.
    await scene.drive(scene.query('/4'), MINUTE_MS / 4);
    secret = 'token-of-a';
    await scene.drive(Promise.all(['/5', '/6'].map((path) => scene.query(path))), MINUTE_MS / 4);
    expect(scene.source.gauges().budgets.map((one) => one.credential)).toEqual(['c']);
    expect(scene.events.find((event) => event.credential === 'b' && event.outcome === 'unauthorized')?.reason).toContain(
      'b: it has the same secret as a, so toy counts both in one budget.',
    );
    expect(scene.server.requests.filter(({ headers }) => headers.authorization === 'Bearer token-of-a')).toHaveLength(2);
  });

  test('leaves the other one in use if it was given up for that', async () => {
    // The attempt with the other credential isn't sent, and so doesn't use one of the three requests.
    const allowance = requestAllowance({ max: 3, onUsedUp: () => undefined });
    const scene = await play([], { credentials: [credential('a'), { ...credential('a'), name: 'c' }], allowance }, each);
    for (const path of ['/1', '/2', '/3']) await scene.query(path);
    expect(scene.events.map((event) => `${event.credential} ${event.outcome}`)).toEqual(['a ok', 'c unauthorized', 'a ok', 'a ok']);
  });
});
