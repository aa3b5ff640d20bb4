import { describe, expect, it } from 'vitest';
import { fullCredits, holdingBudgets } from './wait-words.ts';
import type { Activity, BudgetGauge, RunGauges, ServiceName } from './run-event.ts';

const now = 1_000_000;
const free: BudgetGauge = { service: 'followers', credential: 'app', limit: 15, used: 3, windowMs: 900_000 };
const full: BudgetGauge = { ...free, credential: 'reader', used: 15, freeAt: now + 5000 };
const fullLater: BudgetGauge = { ...full, credential: 'later', freeAt: now + 9000 };
const decidedByAnswers: BudgetGauge = { service: 'followers', credential: 'open', limit: 15, used: 15, windowMs: 900_000 };
const plan: BudgetGauge = { service: 'books', credential: 'pro', limit: 5, used: 1, windowMs: 1000 };
const quota: BudgetGauge = { ...plan, unit: 'isbns', limit: 5000, used: 5000, windowMs: 86_400_000, freeAt: now + 3_600_000 };

function activity(state: Activity['state'], service: ServiceName = 'followers'): Activity {
  return { service, subject: 'x', state };
}

function held(budgets: readonly BudgetGauge[], activities: readonly Activity[]): [string, string][] {
  return [...holdingBudgets({ budgets, credits: [], activities }, now)].map(([budget, what]) => [budget.credential, what]);
}

describe('what everything waits for', () => {
  it('is the budget that is free first, when all are used up', () => {
    expect(held([fullLater, full, decidedByAnswers], [activity('waiting-for-budget'), activity('queued'), activity('done')])).toEqual([
      ['reader', 'everything'],
    ]);
  });

  it('is the one its answers decide, where no other is there', () => {
    expect(held([decidedByAnswers], [activity('waiting-for-budget')])).toEqual([['open', 'everything']]);
  });

  it('is none while one has room', () => {
    expect(held([full, free], [activity('waiting-for-budget')])).toEqual([]);
  });

  it.each(['asking', 'writing', 'waiting-for-downstream', 'waiting-to-retry'] as const)('is none while a crawl is %s', (state) => {
    expect(held([full], [activity('waiting-for-budget'), activity(state)])).toEqual([]);
  });

  it('is none when nobody waits', () => {
    expect(held([full], [activity('done'), activity('queued')])).toEqual([]);
  });

  it('is said by service where both work', () => {
    const both = [activity('waiting-for-budget'), activity('asking', 'books')];
    expect(held([full, plan], both)).toEqual([['reader', 'followers']]);
  });

  it('is the quota, though the plan has room', () => {
    const gauges: RunGauges = { budgets: [plan, quota], credits: [], activities: [activity('waiting-for-budget', 'books')] };
    expect([...holdingBudgets(gauges, now)]).toEqual([[quota, 'everything']]);
  });
});

it('counts a credit as full when a page no longer fits in', () => {
  const credit = { service: 'followers', max: 20_000, used: 17_000 } as const;
  expect(fullCredits({ budgets: [], credits: [credit], activities: [activity('asking')] })).toEqual([]);
  expect(fullCredits({ budgets: [], credits: [credit], activities: [activity('waiting-for-downstream')] })).toEqual([credit]);
  expect(fullCredits({ budgets: [], credits: [{ ...credit, used: 20_000 }], activities: [] })).toHaveLength(1);
});
