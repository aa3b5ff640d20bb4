import { virtualClock } from '@headgate/throttle/testing';
import { expect, it } from 'vitest';
import type { RunEvent } from '../events.ts';
import { laneSupervisor } from './lane-supervisor.ts';
import type { PipelineLane } from './pipeline-lane.ts';

it('tells how many lanes the group gives it, when that is said first and when it changes', async () => {
  const events: RunEvent[] = [];
  const lane: PipelineLane = {
    run: () => Promise.resolve(),
    confirm: () => undefined,
    gauges: () => ({ budgets: [], credits: [], waiting: [], inFlight: [] }),
    close: () => Promise.resolve(),
  };
  const supervisor = laneSupervisor({
    open: () => Promise.resolve(lane),
    laneOf: ({ topic, partition }) => ({ pipeline: topic, lane: partition }),
    lanes: 2,
    follow: true,
    signal: new AbortController().signal,
    clock: virtualClock(),
    emit: (event) => void events.push(event),
  });
  const [first, second] = [0, 1].map((partition) => ({ topic: 'requests', partition }));
  if (first === undefined || second === undefined) throw new Error('There are two.');
  for (const places of [[], [], [first], [second], [first, second]]) supervisor.assign(places);
  await supervisor.opened();
  await supervisor.close();
  expect(events.filter(({ type }) => type === 'lanes-assigned')).toEqual([0, 1, 2].map((lanes) => ({ type: 'lanes-assigned', lanes })));
});
