import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunEvent } from '../events/events.ts';
import { RunModel } from '../progress/run-model.ts';
import { serviceWatch } from './service-watch.ts';

type Attempt = Extract<RunEvent, { type: 'attempt' }>;

function watched() {
  const clock = virtualClock();
  const told: RunEvent[] = [];
  const model = new RunModel(clock, []);
  const watch = serviceWatch(model, (event) => void told.push(event));
  const attempt = (outcome: Attempt['outcome'], pipeline = 'crm', durationMs = 0): void => {
    const event: Attempt = {
      type: 'attempt',
      pipeline,
      credential: 'app',
      subject: 's',
      outcome,
      durationMs,
      reason: 'connection refused',
    };
    model.apply(event);
    watch(event);
  };
  return { clock, told, attempt, startedAt: clock.epochMs(), model };
}

it('reports a lasting outage once, however many requests fail, and its end once', async () => {
  const { clock, told, attempt, startedAt } = watched();
  for (let second = 0; second < 60; second += 1) {
    for (let i = 0; i < 160; i += 1) attempt('transient');
    await clock.advance(1_000);
  }
  expect(told).toEqual([{ type: 'service-unavailable', pipeline: 'crm', since: startedAt, reason: 'connection refused' }]);
  attempt('ok');
  attempt('ok');
  expect(told.slice(1)).toEqual([{ type: 'service-available', pipeline: 'crm', since: startedAt, lastedMs: 60_000 }]);
});

it('counts from the start of the first attempt, per pipeline, and ignores a short outage', async () => {
  const { clock, told, attempt, startedAt } = watched();
  attempt('transient', 'books');
  await clock.advance(1_999);
  attempt('transient', 'books');
  // The outcome `gone` ends the series of failures, because the service has responded.
  attempt('gone', 'books');
  await clock.advance(5_000);
  attempt('transient', 'books');
  expect(told).toEqual([]);
  attempt('transient', 'crm', 30_000);
  expect(told).toMatchObject([{ type: 'service-unavailable', pipeline: 'crm', since: startedAt + 6_999 - 30_000 }]);
});

it('reports an outage on time, with its duration, after the clock was set back', async () => {
  const { clock, told, attempt, startedAt, model } = watched();
  attempt('transient');
  await clock.advance(1_000);
  clock.stepEpoch(-3_600_000);
  await clock.advance(1_000);
  attempt('transient');
  const since = startedAt - 3_600_000;
  expect(told).toEqual([{ type: 'service-unavailable', pipeline: 'crm', since, reason: 'connection refused' }]);
  const gauges = { budgets: [], credits: [], work: [], lanes: [], outages: [] };
  expect(model.snapshot(gauges)).toMatchObject({
    startedAt: since,
    lastEventAt: since + 2_000,
    pipelines: { crm: { failing: { since } } },
  });
  await clock.advance(3_000);
  clock.stepEpoch(-60_000);
  attempt('ok');
  expect(told.slice(1)).toEqual([{ type: 'service-available', pipeline: 'crm', since: since - 60_000, lastedMs: 5_000 }]);
});

it('includes the time that the machine slept', async () => {
  const { clock, told, attempt, startedAt } = watched();
  attempt('transient');
  clock.stepEpoch(3_600_000);
  await clock.advance(1_000);
  attempt('transient');
  attempt('ok');
  expect(told).toEqual([
    { type: 'service-unavailable', pipeline: 'crm', since: startedAt, reason: 'connection refused' },
    { type: 'service-available', pipeline: 'crm', since: startedAt, lastedMs: 3_601_000 },
  ]);
});
