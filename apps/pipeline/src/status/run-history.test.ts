import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { runHistory } from './run-history.ts';

const START = Date.UTC(2026, 2, 10, 10, 0, 0);
const attempt = { type: 'attempt', pipeline: 'followers', credential: 'app', subject: '@alpha', durationMs: 1 } as const;
const page = { type: 'page-written', pipeline: 'followers', key: '@alpha', request: 'r', page: 1, last: false } as const;

it('the history counts per minute, and keeps 6 hours', async () => {
  const clock = virtualClock({ epochMs: START + 30_000 });
  const { apply, history } = runHistory(clock);
  apply({ ...attempt, outcome: 'ok' });
  apply({ ...attempt, outcome: 'ok' });
  await clock.advance(29_999);
  apply({ ...page, items: 5_000 });
  await clock.advance(1);
  apply({ ...page, items: 20 });
  apply({ type: 'keys-answered', pipeline: 'books', count: 100 });
  expect(history().minutes).toEqual([
    { at: START, attempts: { ok: 2 }, items: { followers: 5_000 }, keys: {} },
    { at: START + 60_000, attempts: {}, items: { followers: 20 }, keys: { books: 100 } },
  ]);
  for (let i = 0; i < 500; i += 1) {
    await clock.advance(60_000);
    apply({ ...attempt, outcome: 'ok' });
  }
  const { minutes } = history();
  expect(minutes).toHaveLength(360);
  expect(minutes.at(-1)?.at).toBe(START + 501 * 60_000);
  await clock.advance(86_400_000);
  apply({ ...attempt, outcome: 'ok' });
  expect(history().minutes).toHaveLength(1);
});

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

it('minutes stay in order and ages stay right after the clock was set back', async () => {
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
  const { minutes, faults } = history();
  expect(minutes.map(({ at, attempts }) => [at, attempts])).toEqual(
    [START - 3_660_000, START - 3_600_000, START - 3_540_000].map((at) => [at, { transient: 1 }]),
  );
  expect(faults).toMatchObject([{ count: 3, since: start, last: start + 120_000 }]);
});
