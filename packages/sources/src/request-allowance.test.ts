import { describe, expect, it, vi } from 'vitest';
import { requestAllowance } from './request-allowance.ts';

describe('an allowance of requests', () => {
  const { signal } = new AbortController();

  it('is used up when all of them have ended and another one waits', async () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 2, onUsedUp });
    const [first, second] = await Promise.all([allowance.take(signal), allowance.take(signal)]);
    first();
    const stop = new AbortController();
    const third = allowance.take(stop.signal);
    const fourth = allowance.take(stop.signal);
    expect(onUsedUp).not.toHaveBeenCalled();
    second();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
    stop.abort(new Error('stopped'));
    await expect(third).rejects.toThrow('stopped');
    await expect(fourth).rejects.toThrow('stopped');
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not used up while nobody waits for more', async () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 1, onUsedUp });
    (await allowance.take(signal))();
    expect(onUsedUp).not.toHaveBeenCalled();
  });

  it('is not spent by a request that was aborted before it took its turn', async () => {
    const allowance = requestAllowance({ max: 1, onUsedUp: () => undefined });
    await expect(allowance.take(AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone');
    await expect(allowance.take(signal)).resolves.toBeTypeOf('function');
  });

  it('gives a request that was never sent to the one that waits, and is used up only when that one has ended', async () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const ended = await allowance.take(signal);
    const stop = new AbortController();
    const gone = allowance.take(stop.signal);
    const [second, third] = [allowance.take(signal), allowance.take(signal)];
    stop.abort(new Error('gone'));
    await expect(gone).rejects.toThrow('gone');
    ended('unsent');
    expect(onUsedUp).not.toHaveBeenCalled();
    (await second)();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
    void third;
  });
});
