import { expect, it } from 'vitest';
import { TransactionTimeout } from './transaction-timeout.ts';

it('is halved until brokers take it, once however many producers are refused, and never below a second', () => {
  const timeout = new TransactionTimeout(60_000);
  expect([timeout.shorten(60_000), timeout.shorten(60_000), timeout.ms]).toEqual([true, true, 30_000]);
  const tried: number[] = [];
  while (timeout.shorten(timeout.ms)) tried.push(timeout.ms);
  expect(tried).toEqual([15_000, 7_500, 3_750, 1_875]);
});
