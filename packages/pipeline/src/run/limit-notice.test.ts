import { expect, test } from 'vitest';
import { limitNotice } from './limit-notice.ts';

const crm = { name: 'crm', options: ['limit', 'budgets'] };
const configured = { requests: 15, windowMs: 900_000 };

test.each([
  {
    stated: { requests: 300 },
    level: 'info',
    message:
      'crm: the service reports 300 requests in a window, but crm.limit is 15 in 15 min: so part of the budget stays unused. ' +
      "Set crm.limit to the service's, unless you leave the rest to other programs on purpose.",
  },
  {
    stated: { requests: 10 },
    level: 'warn',
    message:
      'crm: the service reports 10 requests in a window, but crm.limit is 15 in 15 min: the service refuses requests beyond its own limit. Set crm.limit to the service’s.',
  },
] as const)('$stated', ({ stated, level, message }) => {
  const text = message.replaceAll('’', "'");
  expect(limitNotice(crm, { budget: 'rate', configured, stated })).toEqual({ type: 'notice', level, message: text });
});

test('another budget is named by its option', () => {
  const { message } = limitNotice(crm, { budget: 'perMonth', configured, stated: { requests: 300 } });
  expect(message).toContain('300 requests in a window, but crm.budgets.perMonth is 15 in 15 min');
});

test('a budget without an option of that name is named as a budget', () => {
  const { message } = limitNotice({ name: 'crm', options: ['plan'] }, { budget: 'minute', configured, stated: { requests: 10 } });
  expect(message).toBe(
    'crm: the service reports 10 requests in a window, but the budget minute of crm is 15 in 15 min: the service refuses requests beyond its own limit. ' +
      "Set the budget minute of crm to the service's.",
  );
});
