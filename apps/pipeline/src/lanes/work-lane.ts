import type { Clock } from '@headgate/throttle';
import type { HeldBack, TopicLog } from '@headgate/topics';
import type { Bell } from './bell.ts';
import { heldBackWatch } from './held-back-watch.ts';
import type { Lane } from './lane.ts';
import { type WishRecord, wishesInOrder } from './wishes-in-order.ts';

/** What works a lane's wishes. It rings the lane's bell whenever its load has changed, and fails it when it can't go on. */
export interface Flow {
  /** Wishes (or parts of wishes) taken and not finished. */
  readonly load: number;
  /** Wishes that were begun before the lane was opened, as its state has kept them. */
  readonly begun: readonly WishRecord[];
  /** Starts the work on a wish. */
  take(wish: WishRecord): void;
  /** The queue has been read to its end: nothing waits for company any longer. */
  flush(): void;
  /** Asks for nothing more; resolves when what is in hand has been written or given up. */
  stop(): Promise<void>;
}

export interface WorkLaneOptions {
  readonly log: TopicLog;
  readonly lane: Lane;
  readonly flow: Flow;
  readonly bell: Bell;
  /** Load at which no further wish is taken. */
  readonly backlog: number;
  /** Stay when nothing is left. */
  readonly follow: boolean;
  readonly clock: Clock;
  /** Told when somebody's open transaction keeps wishes from being read, and with undefined when it no longer does. */
  readonly onHeldBack: (heldBack: HeldBack | undefined) => void;
  /** Ends the work gracefully. */
  readonly signal: AbortSignal;
}

/** Wishes that a lane has under way before the rest is left in the topic. */
export const BACKLOG = 500;
/** How long to wait before looking for new wishes. */
const LOOK_AGAIN_MS = 250;

/** Works a lane until nothing is left, or until `signal`. Rejects when the lane or its flow can't go on. */
export async function workLane(options: WorkLaneOptions): Promise<void> {
  const { log, lane, flow, bell, backlog, follow, signal, clock, onHeldBack } = options;
  const wake = (): void => bell.ring();
  signal.addEventListener('abort', wake);
  lane.onFailure((error) => bell.fail(error));
  const { topic, partition } = lane;
  const watch = heldBackWatch({ log, lane, clock, onChange: onHeldBack, signal });
  let position = lane.next;
  try {
    while (!signal.aborted) {
      let idle = flow.load === 0;
      // Before reading: what was committed by then is seen, unless it is held back.
      const isHeldBack = await watch.look(idle && !follow);
      for await (const wish of wishesInOrder({ log, topic, partition, from: position, begun: flow.begun, signal })) {
        lane.skip(position, wish.offset);
        position = wish.offset + 1;
        if (lane.isFinished(wish.offset)) continue;
        idle = false;
        while (flow.load >= backlog && !signal.aborted) await bell.wait();
        if (signal.aborted) return;
        flow.take(wish);
      }
      flow.flush();
      if (idle && !follow && !isHeldBack) return;
      await bell.wait(LOOK_AGAIN_MS);
    }
  } finally {
    signal.removeEventListener('abort', wake);
    await flow.stop();
  }
}
