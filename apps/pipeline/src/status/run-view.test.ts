import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { ABOUT, START } from './shown-run.fixture.ts';
import { FakeTerminal } from './fake-terminal.fixture.ts';
import { createPlainLines } from './plain-lines.ts';
import { runViewer } from './run-view.ts';
import { summaryText } from './summary-text.ts';

it('a time that was the present when the snapshot was taken isn’t shown as a future one', () => {
  let ticks = 0;
  const clock = { ...virtualClock({ epochMs: START }), epochMs: () => START + ticks++ };
  const viewer = runViewer(clock, new AbortController().signal, ABOUT);
  const nothing = viewer.view();
  const snapshot = (): typeof nothing => ({ ...nothing, now: clock.epochMs() });
  viewer.attach({ snapshot });
  const before = ticks;
  const { now } = viewer.view();
  expect(ticks).toBe(before + 3);
  expect(now).toBe(START + before + 1);
});

it('the elapsed time and the ages of pages are right even if the wall clock is changed', async () => {
  const clock = virtualClock({ epochMs: START });
  const viewer = runViewer(clock, new AbortController().signal, ABOUT);
  const stderr = new FakeTerminal();
  const view = () => viewer.view();
  const units = { followers: 'ids' };
  const plain = createPlainLines({ clock, view, units, header: 'headgate run', stderr, timeZone: 'UTC', commandFor: String });
  const page = { type: 'page-written', pipeline: 'followers', key: '@alpha', request: 'r', items: 5, last: false } as const;
  plain.event({ ...page, page: 1 });
  clock.stepEpoch(-3_600_000);
  plain.event({ ...page, page: 2 });
  await clock.advance(5_000);
  expect(stderr.lines.slice(1)).toEqual([
    '10:00:00 @alpha page 1: 5 ids',
    '09:00:01 @alpha page 2: 5 ids',
    '09:00:04 joining the group: no lanes are assigned to this process yet',
  ]);
  plain.close();
  viewer.end('stopped');
  const summary = summaryText({ view: view(), names: (topic) => topic, commandFor: () => '', outcome: 'stopped', canContinue: true });
  expect(summary).toMatch(/^Stopped after 5(?:\.0)? s/);
});

it('the lines show a pipeline’s first refusals because of its rate limit, and not the later ones', () => {
  const clock = virtualClock({ epochMs: START });
  const viewer = runViewer(clock, new AbortController().signal, ABOUT);
  const stderr = new FakeTerminal();
  const plain = createPlainLines({ clock, view: () => viewer.view(), units: {}, header: 'h', stderr, timeZone: 'UTC', commandFor: String });
  const refused = (pipeline: string, times: number): void => {
    for (let i = 1; i <= times; i += 1)
      plain.event({ type: 'attempt', pipeline, credential: 'app', subject: `${pipeline} ${i}`, outcome: 'rate-limited', durationMs: 1 });
  };
  refused('crm', 40);
  refused('books', 1);
  plain.close();
  expect(stderr.lines.slice(1)).toEqual([
    ...[1, 2, 3, 4, 5].map((i) => `10:00:00 crm ${i}: rate-limited`),
    '10:00:00 books 1: rate-limited',
  ]);
});
