import { bearer } from '@headgate/auth';
import { virtualClock } from '@headgate/throttle/testing';
import { describe, expect, test } from 'vitest';
import { SourceError } from '../source-error.ts';
import { SharedLimits } from './shared-limits.ts';
import { type RefusedRequest, SourceCredential } from './source-credential.ts';

const clock = virtualClock();
const options = { maxDelayMs: 0, clock };
const shared = new SharedLimits({}, options);
const make = (requests = 15, windowMs = 60_000): SourceCredential =>
  new SourceCredential({ name: 'app', signer: bearer('token') }, { rate: { requests, windowMs } }, shared, options);
const request = { grantedAtMs: 0, weights: [1], corrections: 0, secret: 'secret' };
const hold = (credential: SourceCredential, ms: number, more: Partial<RefusedRequest> = {}): void =>
  credential.apply({ kind: 'hold', ms }, { ...request, grantedAtMs: clock.monotonicMs(), ...more });

test('refusals in a row are counted, those of requests that were sent together as one', async () => {
  const credential = make();
  const refusals = (grantedAtMs = clock.monotonicMs()): number => credential.stateFor({ ...request, grantedAtMs }).refusals;
  const grantedAtMs = clock.monotonicMs();
  expect([refusals(), credential.isRefused]).toEqual([1, false]);
  await clock.advance(100);
  hold(credential, 1, { grantedAtMs });
  expect([refusals(grantedAtMs), refusals(), credential.isRefused]).toEqual([1, 2, true]);
  hold(credential, 1);
  expect(refusals()).toBe(3);
  credential.apply({ kind: 'accepted' }, request);
  expect([refusals(), credential.isRefused]).toEqual([1, false]);
});

test('nothing starts meanwhile, and it is remembered for a minute', async () => {
  const credential = make();
  expect(credential.recentlyRefused).toBe(false);
  hold(credential, 5_000);
  expect(credential.budgets[0]?.freeAt()).toBe(clock.monotonicMs() + 5_000);
  expect(credential.recentlyRefused).toBe(true);
  await clock.advance(60_001);
  expect(credential.recentlyRefused).toBe(false);
});

test('a refusal holds the budgets that its request used, and no others', () => {
  const credential = new SourceCredential(
    { name: 'app', signer: bearer('token') },
    { core: { requests: 15, windowMs: 60_000 }, search: { requests: 30, windowMs: 1_000 } },
    shared,
    options,
  );
  const free = () => credential.budgets.map((budget) => budget.freeAt() - clock.monotonicMs());
  const windowMs = (weights: readonly number[]): number => credential.stateFor({ ...request, weights }).windowMs;
  hold(credential, 5_000, { weights: [0, 1] });
  expect(free()).toEqual([0, 5_000]);
  // A refusal of a request that costs nothing concerns all budgets.
  hold(credential, 90_000, { weights: [0, 0] });
  expect(free()).toEqual([90_000, 90_000]);
  expect([windowMs([1, 0]), windowMs([1, 1]), windowMs([0, 0])]).toEqual([60_000, 1_000, 1_000]);
});

describe('a secret that is refused', () => {
  const reading = () => {
    let reads = 0;
    const signer = { sign: () => ({ authorization: 'x' }), refused: () => void (reads += 1) };
    const credential = new SourceCredential({ name: 'app', signer }, { rate: { requests: 1, windowMs: 1 } }, shared, options);
    return { credential, reads: () => reads };
  };
  const error = new SourceError({ code: 'HEADGATE_TOY', message: 'toy', retryable: false, service: 'toy' });

  test('is read again, once until the next accepted request', () => {
    const { credential, reads } = reading();
    expect(credential.stateFor(request)).toMatchObject({ canReadSecret: true, isCorrected: false });
    expect(credential.stateFor({ ...request, secret: undefined }).canReadSecret).toBe(false);
    credential.apply({ kind: 'read secret', error }, request);
    expect([reads(), credential.refusalOf('secret'), credential.refusalOf('other')]).toEqual([1, error, undefined]);
    // The refusal of a request that was signed before says nothing new.
    expect(credential.stateFor(request).isCorrected).toBe(true);
    const later = { ...request, corrections: credential.corrections };
    expect(credential.stateFor(later)).toMatchObject({ canReadSecret: false, isCorrected: false });
    credential.apply({ kind: 'accepted' }, later);
    expect(credential.stateFor(later).canReadSecret).toBe(true);
  });

  test("can't be read again by a signer that has it for good", () => {
    expect(make().stateFor(request).canReadSecret).toBe(false);
  });

  test('says nothing of requests that were in flight when the credential was given up', () => {
    const { credential } = reading();
    credential.apply({ kind: 'retire', error }, request);
    expect(credential.stateFor(request).isCorrected).toBe(true);
  });
});

test('a clock that is refused is set, and the refusals in a row are counted', () => {
  const offsets: number[] = [];
  const signer = { sign: () => ({ authorization: 'x' }), adjustClock: (ms: number) => void offsets.push(ms) };
  const credential = new SourceCredential({ name: 'user', signer }, { rate: { requests: 1, windowMs: 1 } }, shared, options);
  expect([make().stateFor(request).hasClock, credential.stateFor(request).hasClock]).toEqual([false, true]);
  for (const offsetMs of [1_200_000, undefined]) credential.apply({ kind: 'set clock', offsetMs }, request);
  expect(offsets).toEqual([1_200_000]);
  expect([credential.corrections, credential.stateFor(request).clockRefusals]).toEqual([2, 2]);
  credential.apply({ kind: 'passed over', error: new SourceError({ code: 'X', message: 'x', retryable: false, service: 'toy' }) }, request);
  expect(credential.stateFor(request).clockRefusals).toBe(0);
});
