import { virtualClock } from '@headgate/throttle/testing';
import { bearer } from '@headgate/auth';
import { expect, test } from 'vitest';
import { sourceCredential, type SourceCredential } from './source-credential.ts';

const clock = virtualClock();
const make = (requests = 15, windowMs = 60_000): SourceCredential =>
  sourceCredential({ credential: { name: 'app', signer: bearer('token') }, limit: { requests, windowMs }, maxDelayMs: 0, clock });
const refused = (credential: SourceCredential, retryInMs?: number): number =>
  credential.refused({ grantedAtMs: clock.monotonicMs(), ...(retryInMs !== undefined && { retryInMs }) });

test('refusals that say nothing: a window, doubling up to 15 minutes, and from the start again after an answer', () => {
  const credential = make();
  expect(Array.from({ length: 6 }, () => refused(credential))).toEqual([60_000, 120_000, 240_000, 480_000, 900_000, 900_000]);
  credential.accepted();
  expect(refused(credential)).toBe(60_000);
});

test('requests refused together are one refusal', async () => {
  const credential = make();
  const grantedAtMs = clock.monotonicMs();
  await clock.advance(100);
  expect(credential.refused({ grantedAtMs })).toBe(60_000);
  expect(credential.refused({ grantedAtMs })).toBe(60_000);
});

test('what the service says is believed, within reason', () => {
  expect(refused(make(), 5_000)).toBe(5_000);
  expect(refused(make(), 0)).toBe(1_000);
  expect(refused(make(1, 200), -5)).toBe(200);
  expect(refused(make(), 86_400_000)).toBe(86_400_000);
  // A reset in another century is a lie, and says nothing.
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

test('a clock is corrected once, and only where it can be', () => {
  expect(make().correctClock(5_000)).toBe(false);
  const offsets: number[] = [];
  const signer = { sign: () => ({ authorization: 'x' }), adjustClock: (ms: number) => offsets.push(ms) };
  const credential = sourceCredential({ credential: { name: 'user', signer }, limit: { requests: 1, windowMs: 1 }, maxDelayMs: 0, clock });
  expect(credential.correctClock(NaN)).toBe(false);
  expect(credential.correctClock(5_000)).toBe(true);
  expect(credential.correctClock(6_000)).toBe(false);
  expect(offsets).toEqual([5_000]);
});
