import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { createStop } from './stop.ts';

function stage() {
  const clock = virtualClock();
  const codes: number[] = [];
  const stop = createStop(
    () => clock.monotonicMs(),
    (ms, call) => void clock.schedule(ms, call),
    (code) => void codes.push(code),
  );
  const moments = () => [stop.signal.aborted, stop.deadline.written.aborted, stop.deadline.closed.aborted, ...codes];
  return { clock, stop, moments };
}

test('the first signal stops within 10 s: work is written, then all is closed, then the process ends', async () => {
  const { clock, stop, moments } = stage();
  await clock.advance(60_000);
  expect(moments()).toEqual([false, false, false]);
  stop.onSignal('SIGTERM');
  expect([stop.signal.reason, ...moments()]).toEqual([new Error('stopped by SIGTERM'), true, false, false]);
  await clock.advance(7_999);
  expect(moments()).toEqual([true, false, false]);
  await clock.advance(1_000);
  expect(moments()).toEqual([true, true, false]);
  await clock.advance(1);
  expect(moments()).toEqual([true, true, true]);
  await clock.advance(999);
  expect(moments()).toEqual([true, true, true, 130]);
});

test('a second signal ends the process at once, unless it is the first one delivered twice', async () => {
  const { clock, stop, moments } = stage();
  stop.onSignal('SIGINT');
  await clock.advance(1_000);
  stop.onSignal('SIGINT');
  expect(moments()).toEqual([true, false, false]);
  await clock.advance(1);
  stop.onSignal('SIGTERM');
  expect(moments()).toEqual([true, false, false, 130]);
});
