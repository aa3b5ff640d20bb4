import { describe, expect, it, vi } from 'vitest';
import { type AllowanceSender, type RequestAllowance, requestAllowance } from './request-allowance.ts';

const sender: AllowanceSender = { canSend: true, onGivenBack: () => undefined };

const taken = (allowance: RequestAllowance) => {
  const request = allowance.wait(sender);
  request.take();
  return request;
};

describe('an allowance of requests', () => {
  it('is used up when all of them have ended and another one waits', () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 2, onUsedUp });
    const [first, second] = [taken(allowance), taken(allowance)];
    first.end();
    allowance.wait(sender);
    allowance.wait(sender);
    expect([allowance.isTaken, onUsedUp.mock.calls.length]).toEqual([true, 0]);
    second.end();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
    allowance.wait(sender);
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not used up while nobody waits for more', () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const only = allowance.wait(sender);
    const gone = allowance.wait(sender);
    only.take();
    gone.end();
    only.end();
    expect(onUsedUp).not.toHaveBeenCalled();
    allowance.wait(sender);
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not used up while nobody who waits can send', () => {
    const onUsedUp = vi.fn();
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const only = taken(allowance);
    allowance.wait({ ...sender, canSend: false });
    only.end();
    expect(onUsedUp).not.toHaveBeenCalled();
    allowance.wait(sender);
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });

  it('is not spent by a request that waits, or that ends while it waits', () => {
    const allowance = requestAllowance({ max: 1, onUsedUp: () => undefined });
    allowance.wait(sender).end();
    allowance.wait(sender).end('unsent');
    allowance.wait(sender);
    expect(allowance.isTaken).toBe(false);
    taken(allowance);
    expect(allowance.isTaken).toBe(true);
  });

  it('wakes each source once when a request was never sent, and is used up only when the next one has ended', () => {
    const onUsedUp = vi.fn();
    const [one, other] = [vi.fn(), vi.fn()];
    const ones = { ...sender, onGivenBack: one };
    const allowance = requestAllowance({ max: 1, onUsedUp });
    const unsent = taken(allowance);
    const [next] = [ones, ones, { ...ones, onGivenBack: other }].map((each) => allowance.wait(each));
    unsent.end('unsent');
    unsent.end('unsent');
    expect([one, other].map(({ mock }) => mock.calls.length)).toEqual([1, 1]);
    expect([allowance.isTaken, onUsedUp.mock.calls.length]).toEqual([false, 0]);
    next?.take();
    next?.end();
    expect(onUsedUp).toHaveBeenCalledTimes(1);
  });
});
