import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import { ABOUT, START } from './shown-run.fixture.ts';
import { runViewer } from './run-view.ts';

it('shows no instant of its snapshot as one to come that was the present when it was made', () => {
  let ticks = 0;
  const clock = { ...virtualClock({ epochMs: START }), epochMs: () => START + ticks++ };
  const viewer = runViewer({ clock, signal: new AbortController().signal, about: ABOUT });
  const nothing = viewer.view();
  const snapshot = (): typeof nothing => ({ ...nothing, now: clock.epochMs() });
  viewer.attach({ snapshot });
  const before = ticks;
  const { now } = viewer.view();
  expect(ticks).toBe(before + 2);
  expect(now).toBe(START + before + 1);
});
