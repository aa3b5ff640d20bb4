import { getEventListeners } from 'node:events';
import { describe, expect, it, test } from 'vitest';
import { abortable, anySignal, onAbort, orAborted, pause, untilAborted } from './abort.ts';
import { virtualClock } from './testing/index.ts';

const never = new Promise<never>(() => undefined);
const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

describe('onAbort', () => {
  it('calls back once with the reason, or at once if the signal has aborted', () => {
    const stop = new AbortController();
    const reasons: unknown[] = [];
    const note = (reason: unknown): void => void reasons.push(reason);
    onAbort(stop.signal, note);
    onAbort(undefined, note);
    stop.abort('stopped');
    onAbort(stop.signal, note);
    expect(reasons).toEqual(['stopped', 'stopped']);
  });

  it('has one listener at a signal, and none when all callbacks are forgotten', () => {
    const stop = new AbortController();
    const called: string[] = [];
    const same = (): void => void called.push('same');
    const forgets = [onAbort(stop.signal, same), onAbort(stop.signal, same), onAbort(stop.signal, () => called.push('other'))];
    expect(listeners(stop.signal)).toBe(1);
    forgets[0]?.();
    forgets[0]?.();
    expect(listeners(stop.signal)).toBe(1);
    stop.abort();
    expect(called).toEqual(['same', 'other']);
    for (const forget of forgets) forget();
    const { signal } = new AbortController();
    for (const forget of [onAbort(signal, same), onAbort(signal, same)]) forget();
    expect(listeners(signal)).toBe(0);
  });

  it("doesn't call what an earlier callback has forgotten", () => {
    const stop = new AbortController();
    const called: string[] = [];
    onAbort(stop.signal, () => forget());
    const forget = onAbort(stop.signal, () => called.push('forgotten'));
    stop.abort();
    expect(called).toEqual([]);
  });
});

describe('abortable', () => {
  it('ends its work once, whether it resolves, rejects, throws or is aborted', async () => {
    const stop = new AbortController();
    const { signal } = stop;
    const ended: string[] = [];
    const end = (name: string) => () => void ended.push(name);
    const error = new Error('no');
    await expect(abortable(signal, (resolve) => (resolve(1), resolve(2), end('at once')))).resolves.toBe(1);
    await expect(abortable(signal, (resolve) => (setImmediate(resolve, 3), end('later')))).resolves.toBe(3);
    await expect(abortable(signal, (_, reject) => (reject(error), end('rejected')))).rejects.toBe(error);
    await expect(
      abortable(signal, () => {
        throw error;
      }),
    ).rejects.toBe(error);
    expect(listeners(signal)).toBe(0);
    const aborted = abortable(signal, () => end('aborted'));
    stop.abort('stopped');
    await expect(aborted).rejects.toBe('stopped');
    await expect(abortable(signal, () => end('never begun'))).rejects.toBe('stopped');
    expect(ended).toEqual(['at once', 'later', 'rejected', 'aborted']);
  });

  it('settles as the work does, or as soon as the signal aborts', async () => {
    const stop = new AbortController();
    const no = new Error('no');
    await expect(orAborted(stop.signal, Promise.resolve('value'))).resolves.toBe('value');
    await expect(orAborted(stop.signal, Promise.reject(no))).rejects.toBe(no);
    await untilAborted(stop.signal, Promise.reject(no));
    const waits = [untilAborted(stop.signal), untilAborted(stop.signal, never)];
    const ends = expect(orAborted(stop.signal, never)).rejects.toBe('stopped');
    stop.abort('stopped');
    await Promise.all([...waits, ends]);
    // If `orAborted` didn't handle the error of the work, Vitest would report an unhandled rejection.
    await expect(orAborted(stop.signal, Promise.reject(no))).rejects.toBe('stopped');
  });
});

describe('pause', () => {
  it('leaves no timer and no listener, however it ends', async () => {
    const clock = virtualClock();
    const stop = new AbortController();
    const { signal } = stop;
    let end = (): void => undefined;
    let early = 0;
    const onEarly = (given: () => void) => {
      end = given;
      return () => void (early += 1);
    };
    const over = pause({ clock, ms: 1_000, signal, early: onEarly });
    await clock.advance(1_000);
    await over;
    const ended = pause({ clock, ms: 1_000, signal, early: onEarly });
    end();
    await ended;
    expect([early, clock.pending, listeners(signal)]).toEqual([2, 0, 0]);
    const aborted = expect(pause({ clock, ms: 1_000, signal, early: onEarly })).rejects.toBe('stopped');
    stop.abort('stopped');
    await aborted;
    expect([early, clock.pending, listeners(signal)]).toEqual([3, 0, 0]);
  });

  it('waits again if its timer comes early', async () => {
    const clock = virtualClock();
    const early = {
      ...clock,
      monotonicMs: () => clock.monotonicMs(),
      schedule: (ms: number, run: () => void) => clock.schedule(ms - 1 || ms, run),
    };
    let isOver = false;
    void pause({ clock: early, ms: 3, signal: new AbortController().signal }).then(() => (isOver = true));
    await clock.advance(2);
    expect(isOver).toBe(false);
    await clock.advance(1);
    expect(isOver).toBe(true);
  });
});

test('any of several aborts with the first, and with its reason', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const { signal } = anySignal([one.signal, two.signal]);
  expect(signal.aborted).toBe(false);
  two.abort('second');
  one.abort('first');
  expect(signal.reason).toBe('second');
});

test('any of several: one that is aborted already counts', () => {
  expect(anySignal([new AbortController().signal, AbortSignal.abort('before')]).signal.reason).toBe('before');
});

test('any of several leaves nothing behind, forgotten or aborted', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  const forgotten = anySignal([one.signal]);
  forgotten.forget();
  const aborted = anySignal([one.signal, two.signal]);
  two.abort();
  expect(aborted.signal.aborted).toBe(true);
  expect(getEventListeners(one.signal, 'abort')).toEqual([]);
  expect(getEventListeners(two.signal, 'abort')).toEqual([]);
  const { signal } = new AbortController();
  anySignal([AbortSignal.abort(), signal]);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  one.abort();
  expect(forgotten.signal.aborted).toBe(false);
});
