import type { Clock } from '@headgate/throttle';
import type { TopicLog } from '@headgate/topics';
import { type Lane, openLane } from './lane.ts';

/** Opens a lane of the pipeline `shelves` that writes only dead letters and its state. */
export function shelvesLane({
  log,
  clock,
  partition = 0,
}: {
  readonly log: TopicLog;
  readonly clock: Clock;
  readonly partition?: number;
}): Promise<Lane> {
  return openLane({
    log,
    group: 'g',
    topic: 'shelves.requests',
    partition,
    state: { topic: 'shelves.state', partition },
    writes: [{ topic: 'shelves.dead-letters', partition }],
    clock,
  });
}
