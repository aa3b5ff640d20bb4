import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { runHistory } from './run-history.ts';

const START = Date.UTC(2026, 2, 10, 10, 0, 0);
const attempt = { type: 'attempt', pipeline: 'followers', credential: 'app', subject: '@alpha', durationMs: 1 } as const;
const page = { type: 'page-written', pipeline: 'followers', key: '@alpha', request: 'r', page: 1, last: false } as const;

it('the history keeps how often each kind of error occurred, since when, and the last one', async () => {
  const clock = virtualClock({ epochMs: START });
  const { apply, history } = runHistory(clock);
  apply({ ...attempt, outcome: 'transient', status: 503, reason: 'is down', retryInMs: 1 });
  await clock.advance(1_000);
  apply({ ...attempt, outcome: 'transient', reason: 'connection refused' });
  apply({ ...attempt, outcome: 'ok' });
  apply({ ...attempt, outcome: 'gone', status: 404 });
  await clock.advance(1_000);
  apply({ ...attempt, outcome: 'transient', status: 503, reason: 'is down again' });
  const of = { pipeline: 'followers', outcome: 'transient' };
  expect(history().faults).toEqual([
    { ...of, status: 503, count: 2, since: START, last: START + 2_000, reason: 'is down again' },
    { ...of, count: 1, since: START + 1_000, last: START + 1_000, reason: 'connection refused' },
  ]);
  for (let status = 0; status < 1_000; status += 1) apply({ ...attempt, outcome: 'fatal', status });
  expect(history().faults).toHaveLength(100);
  expect(history().faults[0]?.status).toBe(999);
});

it('the history keeps the last 50 single events', () => {
  const { apply, history } = runHistory(virtualClock({ epochMs: START }));
  apply({ ...page, items: 1 });
  for (let i = 1; i <= 60; i += 1) apply({ type: 'notice', level: 'info', message: `${i}` });
  const { events } = history();
  expect(events.map(({ number }) => number)).toEqual(Array.from({ length: 50 }, (_, i) => i + 11));
  expect(events.at(-1)).toEqual({ number: 60, at: START, event: { type: 'notice', level: 'info', message: '60' } });
});

it('ages stay right after the clock was set back', async () => {
  const clock = virtualClock({ epochMs: START });
  const { apply, history } = runHistory(clock);
  const fault = { ...attempt, outcome: 'transient', reason: 'connection refused' } as const;
  apply(fault);
  clock.stepEpoch(-3_630_000);
  for (let i = 0; i < 2; i += 1) {
    await clock.advance(60_000);
    apply(fault);
  }
  const start = START - 3_630_000;
  expect(history().faults).toMatchObject([{ count: 3, since: start, last: start + 120_000 }]);
});
