import { bearer } from '@headgate/auth';
import { virtualClock } from '@headgate/throttle/testing';
import { describe, expect, test } from 'vitest';
import { sharedBudgets } from './shared-budgets.ts';
import { sourceCredential, type SourceCredential } from './source-credential.ts';

const clock = virtualClock();
const shared = sharedBudgets({ budgets: {}, maxDelayMs: 0, clock });
const make = (requests = 15, windowMs = 60_000): SourceCredential =>
  sourceCredential({
    credential: { name: 'app', signer: bearer('token') },
    budgets: { rate: { requests, windowMs } },
    shared,
    maxDelayMs: 0,
    clock,
  });
const refused = (credential: SourceCredential, retryInMs?: number): number =>
  credential.refused({ grantedAtMs: clock.monotonicMs(), weights: [1], ...(retryInMs !== undefined && { retryInMs }) });

test('refusals without a wait: a window, doubling up to 15 minutes, and from the start again after a response', () => {
  const credential = make();
  expect(Array.from({ length: 6 }, () => refused(credential))).toEqual([60_000, 120_000, 240_000, 480_000, 900_000, 900_000]);
  credential.accepted();
  expect(refused(credential)).toBe(60_000);
});

test('requests refused together are one refusal', async () => {
  const credential = make();
  const grantedAtMs = clock.monotonicMs();
  await clock.advance(100);
  expect(credential.refused({ grantedAtMs, weights: [1] })).toBe(60_000);
  expect(credential.refused({ grantedAtMs, weights: [1] })).toBe(60_000);
});

test('what the service says is believed, within reason', () => {
  expect(refused(make(), 5_000)).toBe(5_000);
  expect(refused(make(), 0)).toBe(1_000);
  expect(refused(make(1, 200), -5)).toBe(200);
  expect(refused(make(), 86_400_000)).toBe(86_400_000);
  // A reset thousands of years away is ignored.
  expect(refused(make(), 1e15)).toBe(60_000);
  expect(refused(make(), Infinity)).toBe(60_000);
});

test('nothing starts meanwhile, and it is remembered for a minute', async () => {
  const credential = make();
  expect(credential.recentlyRefused).toBe(false);
  refused(credential, 5_000);
  expect(credential.budgets[0]?.freeAt()).toBe(clock.monotonicMs() + 5_000);
  expect(credential.recentlyRefused).toBe(true);
  await clock.advance(60_001);
  expect(credential.recentlyRefused).toBe(false);
});

test('a refusal holds the budgets that its request used, and no others', () => {
  const credential = sourceCredential({
    credential: { name: 'app', signer: bearer('token') },
    budgets: { core: { requests: 15, windowMs: 60_000 }, search: { requests: 30, windowMs: 1_000 } },
    shared,
    maxDelayMs: 0,
    clock,
  });
  const free = () => credential.budgets.map((budget) => budget.freeAt() - clock.monotonicMs());
  const grantedAtMs = clock.monotonicMs();
  expect(credential.refused({ grantedAtMs, weights: [0, 1], retryInMs: 5_000 })).toBe(5_000);
  expect(free()).toEqual([0, 5_000]);
  // A refusal of a request that costs nothing concerns all budgets.
  expect(credential.refused({ grantedAtMs, weights: [0, 0], retryInMs: 90_000 })).toBe(90_000);
  expect(free()).toEqual([90_000, 90_000]);
});

describe('a clock that is refused', () => {
  function stamping(): { readonly credential: SourceCredential; readonly offsets: readonly number[] } {
    const offsets: number[] = [];
    const signer = { sign: () => ({ authorization: 'x' }), adjustClock: (ms: number) => void offsets.push(ms) };
    const credential = sourceCredential({
      credential: { name: 'user', signer },
      budgets: { rate: { requests: 1, windowMs: 1 } },
      shared,
      maxDelayMs: 0,
      clock,
    });
    return { credential, offsets };
  }

  test('is corrected as often as the service says, where it accepts what comes in between', () => {
    const { credential, offsets } = stamping();
    for (const offset of [1_200_000, 0, -500_000, 7_000, 0]) {
      expect(credential.clockRefused(offset)).toBe('corrected');
      credential.accepted();
    }
    expect(offsets).toEqual([1_200_000, 0, -500_000, 7_000, 0]);
    expect(credential.clockRefusals).toBe(5);
  });

  test('is not corrected by more than a day', () => {
    const { credential, offsets } = stamping();
    expect(credential.clockRefused(86_400_001)).toBe('too far off');
    expect(credential.clockRefused(-2.5e14)).toBe('too far off');
    expect(credential.clockRefused(-86_400_000)).toBe('corrected');
    expect(offsets).toEqual([-86_400_000]);
  });

  test('is given up after three times in a row, and at once where nothing can be corrected', () => {
    const { credential } = stamping();
    for (const offset of [5_000, 1e15, 5_000]) expect(credential.clockRefused(offset)).not.toBe('fatal');
    expect(credential.clockRefused(5_000)).toBe('fatal');
    expect(stamping().credential.clockRefused(NaN)).toBe('fatal');
    expect(make().clockRefused(5_000)).toBe('fatal');
  });
});
