import { describe, expect, it } from 'vitest';
import { handClock } from './budget-simulation.fixture.ts';
import { rateBudget } from './rate-budget.ts';

const WINDOW_MS = 900_000;

function used(own: number) {
  const clock = handClock();
  const budget = rateBudget({ limit: 15, windowMs: WINDOW_MS, guardMs: 0, clock });
  for (let i = 0; i < own; i += 1) {
    const slot = budget.take();
    slot.sent();
    clock.now += 100;
    slot.answered();
  }
  return { clock, budget };
}

describe('rateBudget.observe', () => {
  it('changes nothing where our own requests explain what is left', () => {
    const { budget } = used(5);
    const before = budget.snapshot();
    budget.observe({ remaining: 10, resetInMs: WINDOW_MS - 500 });
    expect(budget.snapshot()).toEqual(before);
  });

  it('lets our own log decide when the next may go, though nothing remains: whole seconds would cost up to three a window', () => {
    const { budget } = used(15);
    const at = budget.freeAt();
    budget.observe({ remaining: 0, resetInMs: WINDOW_MS - 1_000 });
    expect(budget.freeAt()).toBe(at);
  });

  it('takes what others have used as used until their window ends', () => {
    const { clock, budget } = used(5);
    budget.observe({ remaining: 4, resetInMs: 600_000 });
    expect(budget.used).toBe(11);
    for (let i = 0; i < 4; i += 1) budget.take();
    expect(budget.freeAt()).toBeGreaterThan(clock.now);
    clock.now += 601_001;
    expect(budget.used).toBe(5 + 4);
  });

  it('keeps the least of answers that come out of order', () => {
    const { budget } = used(3);
    budget.observe({ remaining: 6, resetInMs: 500_000 });
    budget.observe({ remaining: 9, resetInMs: 500_000 });
    expect(budget.used).toBe(3 + 6);
    budget.observe({ remaining: 5, resetInMs: 500_000 });
    expect(budget.used).toBe(3 + 7);
  });

  it('does not take requests under way for those of others', () => {
    const { budget } = used(2);
    for (let i = 0; i < 3; i += 1) budget.take().sent();
    budget.observe({ remaining: 10, resetInMs: 800_000 });
    expect(budget.used).toBe(5);
  });

  it.each([
    { remaining: -1, resetInMs: 1_000 },
    { remaining: 0.5, resetInMs: 1_000 },
    { remaining: Number.NaN, resetInMs: 1_000 },
    { remaining: 0, resetInMs: -1 },
    { remaining: 0, resetInMs: Number.NaN },
    { remaining: 0, resetInMs: 10 * WINDOW_MS },
  ])('ignores headers that lie: %o', (evidence) => {
    const { budget } = used(2);
    budget.observe(evidence);
    expect(budget.used).toBe(2);
  });

  it('never loosens: more left than our own log has changes nothing', () => {
    const { budget } = used(9);
    budget.observe({ remaining: 15, resetInMs: 5_000 });
    expect(budget.used).toBe(9);
  });
});
