import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { answeredError } from '../client/answered-error.ts';
import { withEnoughBrokers } from './enough-brokers.ts';

const LACKS_BROKERS = answeredError(38);

beforeEach(() => vi.useFakeTimers());
afterEach(() => vi.useRealTimers());

it('work that needs more brokers than have started is repeated until they have, or for 3 s', async () => {
  let started = false;
  const work = async (): Promise<string> => await (started ? Promise.resolve('done') : Promise.reject(LACKS_BROKERS));
  const waiting = withEnoughBrokers(work);
  await vi.advanceTimersByTimeAsync(2_000);
  started = true;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(await waiting).toBe('done');
  started = false;
  const failing = expect(withEnoughBrokers(work)).rejects.toBe(LACKS_BROKERS);
  await vi.advanceTimersByTimeAsync(4_000);
  await failing;
});

it('another error is thrown at once', async () => {
  let attempts = 0;
  const refused = answeredError(44);
  const work = async (): Promise<never> => {
    attempts += 1;
    return await Promise.reject(refused);
  };
  await expect(withEnoughBrokers(work)).rejects.toBe(refused);
  expect(attempts).toBe(1);
});
