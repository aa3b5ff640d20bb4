import { getEventListeners } from 'node:events';
import { virtualClock } from '@headgate/throttle/testing';
import { expect, test } from 'vitest';
import { pause, untilAborted } from './wait.ts';

test('a wait that has ended leaves no timer and no listener at its signal', async () => {
  const clock = virtualClock();
  const { signal } = new AbortController();
  const over = pause(clock, 1_000, signal);
  await clock.advance(1_000);
  await over;
  await untilAborted(Promise.resolve(), signal);
  await expect(untilAborted(Promise.reject(new Error('no')), signal)).rejects.toThrow('no');
  expect([clock.pending, getEventListeners(signal, 'abort')]).toEqual([0, []]);
});

test.each(['before', 'during'])('a signal that aborts %s a wait ends it', async (when) => {
  const clock = virtualClock();
  const stop = new AbortController();
  if (when === 'before') stop.abort();
  const waits = [pause(clock, 1_000, stop.signal), untilAborted(new Promise(() => undefined), stop.signal)];
  stop.abort();
  await Promise.all(waits);
  expect([clock.pending, getEventListeners(stop.signal, 'abort')]).toEqual([0, []]);
});
