import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { anySignal } from './any-signal.ts';

test('aborts with the first, and with its reason', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const { signal } = anySignal([one.signal, two.signal]);
  expect(signal.aborted).toBe(false);
  two.abort('second');
  one.abort('first');
  expect(signal.reason).toBe('second');
});

test('one that is aborted already counts', () => {
  expect(anySignal([new AbortController().signal, AbortSignal.abort('before')]).signal.reason).toBe('before');
});

test('leaves nothing behind, forgotten or aborted', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const forgotten = anySignal([one.signal]);
  forgotten.forget();
  const aborted = anySignal([one.signal, two.signal]);
  two.abort();
  expect(aborted.signal.aborted).toBe(true);
  expect(getEventListeners(one.signal, 'abort')).toEqual([]);
  expect(getEventListeners(two.signal, 'abort')).toEqual([]);
  one.abort();
  expect(forgotten.signal.aborted).toBe(false);
});
