import { type BudgetEvidence, systemClock } from '@headgate/throttle';
import { describe, expect, test } from 'vitest';
import { budgetOf } from './budgets.ts';
import { LimitCheck } from './limit-check.ts';
import type { LimitMismatch } from './source-options.ts';
import { MINUTE_MS, play } from './scene.fixture.ts';

test('another number of requests is reported with one attempt, whichever credentials see it later', async () => {
  const headers = { 'x-rate-limit-limit': '300', 'x-rate-limit-remaining': '299', 'x-rate-limit-reset': '40' };
  const { query, events } = await play([], { otherwise: (_, response) => response.writeHead(200, headers).end('"good"') });
  for (let i = 0; i < 3; i += 1) await query();
  expect(events.map(({ limitMismatch }) => limitMismatch)).toEqual([
    { budget: 'rate', configured: { requests: 100, windowMs: MINUTE_MS }, stated: { requests: 300 } },
    undefined,
    undefined,
  ]);
});

const named = { minute: { requests: 60, windowMs: MINUTE_MS }, day: { requests: 2_000, per: 'day' } } as const;
const stated = (evidence: Readonly<Record<string, BudgetEvidence>>, isNamed: boolean): LimitMismatch | undefined => {
  const check = new LimitCheck();
  const all = Object.entries(named).map(([name, of]) => ({
    name,
    budget: budgetOf(of, { clock: systemClock() }),
    evidence: evidence[name],
  }));
  check.check(all, isNamed);
  return check.take();
};

describe('headers that say of no budget in particular', () => {
  test('show nothing if they fit another budget of the credential', () => {
    const minute = { remaining: 0, resetInMs: MINUTE_MS, limit: 2_000, refused: true };
    expect(stated({ minute }, false)).toBeUndefined();
    expect(stated({ minute }, true)).toMatchObject({ budget: 'minute', stated: { requests: 2_000 } });
  });

  test('show a limit that fits none', () => {
    expect(stated({ minute: { remaining: 9, resetInMs: 1, limit: 300 } }, false)).toMatchObject({ stated: { requests: 300 } });
  });
});

test.each([
  ['the configured number, whatever the reset is', { remaining: 9, resetInMs: 1e12, limit: 2_000 }],
  ['no number', { remaining: 9, resetInMs: 1 }],
  ['0', { remaining: 0, resetInMs: 1, limit: 0 }],
  ['a fraction', { remaining: 0, resetInMs: 1, limit: 1.5 }],
])('%s shows nothing', (_, day) => {
  expect(stated({ day }, true)).toBeUndefined();
});
