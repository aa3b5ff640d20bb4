import { expect, it } from 'vitest';
import type { RunEvent } from '../events/events.ts';
import { EXPLAINED_REFUSALS, refusalWatch } from './refusal-watch.ts';

type Attempt = Extract<RunEvent, { type: 'attempt' }>;

function watched(options: unknown = { limit: { requests: 100 } }) {
  const told: string[] = [];
  const pipelines = [
    { name: 'crm', options },
    { name: 'books', options: {} },
  ];
  const watch = refusalWatch(pipelines, ({ level, message }) => void told.push(`${level} ${message}`));
  const attempt = (outcome: Attempt['outcome'], times = 1, more: Partial<Attempt> = {}): void => {
    for (let i = 0; i < times; i += 1)
      watch({ type: 'attempt', pipeline: 'crm', credential: 'app', subject: 's', outcome, durationMs: 1, ...more });
  };
  return { told, attempt };
}

it('explains repeated refusals once, with the setting, the evidence and the cure', () => {
  const { told, attempt } = watched();
  attempt('ok', 1_200);
  attempt('rate-limited', EXPLAINED_REFUSALS - 1);
  attempt('ok', 30);
  expect(told).toEqual([]);
  attempt('rate-limited', 40);
  expect(told).toEqual([
    'warn crm: the service refused 5 of 1,235 requests because of its rate limit. It allows less than crm.limit says, or another program uses the ' +
      "credential. Lower crm.limit to the service's own limit, or give each program its own credential. Later refusals are only counted.",
  ]);
});

it('counts each pipeline separately, and no other failures', () => {
  const { told, attempt } = watched();
  attempt('transient', 50);
  attempt('rate-limited', 4);
  attempt('rate-limited', 4, { pipeline: 'books' });
  expect(told).toEqual([]);
  attempt('rate-limited', 1, { pipeline: 'books' });
  expect(told).toEqual([expect.stringContaining('Lower the limit of books to')]);
});

it('names the setting with several limits', () => {
  const { told, attempt } = watched({ budgets: { second: {}, day: {} } });
  attempt('rate-limited', 5);
  expect(told).toEqual([expect.stringContaining('5 of 5 requests because of its rate limit. It allows less than crm.budgets says')]);
});

it('adds nothing to the notice about a lower limit that the service states, but to one about a higher limit', () => {
  const stating = (requests: number): readonly string[] => {
    const { told, attempt } = watched();
    const limitMismatch = { budget: 'rate', configured: { requests: 100, windowMs: 1_000 }, stated: { requests } };
    attempt('ok', 1, { limitMismatch });
    attempt('rate-limited', 50);
    return told;
  };
  expect(stating(60)).toEqual([]);
  expect(stating(300)).toHaveLength(1);
});
