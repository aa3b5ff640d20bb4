import { describe, expect, it, vi } from 'vitest';
import { type RequestAllowance, requestAllowance } from './request-allowance.ts';

const taken = (allowance: RequestAllowance) => {
  const request = allowance.wait(() => undefined);
  request.take();
  return request;
};

describe('an allowance of requests', () => {
  it('is used up when all of them have ended and another one waits', () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 2, onUsedUp });
    const [first, second] = [taken(allowance), taken(allowance)];
    first.end();
    allowance.wait(() => undefined);
    allowance.wait(() => undefined);
    expect([allowance.isTaken, onUsedUp.mock.calls.length]).toEqual([true, 0]);
    second.end();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
    allowance.wait(() => undefined);
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not used up while nobody waits for more', () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const only = allowance.wait(() => undefined);
    const gone = allowance.wait(() => undefined);
    only.take();
    gone.end();
    only.end();
    expect(onUsedUp).not.toHaveBeenCalled();
    allowance.wait(() => undefined);
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not spent by a request that waits, or that ends while it waits', () => {
    const allowance = requestAllowance({ max: 1, onUsedUp: () => undefined });
    allowance.wait(() => undefined).end();
    allowance.wait(() => undefined).end('unsent');
    allowance.wait(() => undefined);
    expect(allowance.isTaken).toBe(false);
    taken(allowance);
    expect(allowance.isTaken).toBe(true);
  });

  it('wakes each source once when a request was never sent, and is used up only when the next one has ended', () => {
    const onUsedUp = vi.fn();
    const [one, other] = [vi.fn(), vi.fn()];
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const unsent = taken(allowance);
    const [next] = [one, one, other].map((wake) => allowance.wait(wake));
    unsent.end('unsent');
    unsent.end('unsent');
    expect([one, other].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    expect([allowance.isTaken, onUsedUp.mock.calls.length]).toEqual([false, 0]);
    next?.take();
    next?.end();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });
});
