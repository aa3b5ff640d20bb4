import { virtualClock } from '@headgate/throttle/testing';
import type { OpenTransaction } from '@headgate/topics';
import { expect, test } from 'vitest';
import { logWith, temporaryLog } from '../testing/temporary-log.fixture.ts';
import { openTransactionWatch } from './open-transaction-watch.ts';

test('a transaction that opens right after a look is found: the watch asks to come again', async () => {
  await using temporary = await temporaryLog();
  const clock = virtualClock();
  let open: OpenTransaction | undefined;
  const told: (OpenTransaction | undefined)[] = [];
  const watch = openTransactionWatch({
    log: logWith(temporary.log, { openTransaction: () => Promise.resolve(open) }),
    lane: { topic: 'jobs', partition: 0 },
    clock,
    signal: new AbortController().signal,
    onChange: (transaction) => told.push(transaction),
  });
  expect(await watch.check(false, true)).toBe(false);
  expect(await watch.check(false, false)).toBe(false);
  open = { offset: 5, sinceMs: 0 };
  for (let second = 0; second < 5; second += 1) {
    expect(await watch.check(false, true)).toBe(true);
    await clock.advance(1_000);
  }
  expect(told).toEqual([open]);
});
