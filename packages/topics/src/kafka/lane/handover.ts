import { setTimeout as sleep } from 'node:timers/promises';
import type { Cluster } from '../client/cluster.ts';
import type { LaneHolder } from './lane-log.ts';
import type { KafkaLaneWriter } from './lane-writer.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import { withinTime } from '../client/time-limit.ts';
import { describeGroup } from '../requests/groups.ts';

const POLL_MS = 100;
const DESCRIBED_WITHIN_MS = 1_000;

export interface HandoverOptions {
  readonly writer: KafkaLaneWriter;
  readonly client: ReconnectingClient<Cluster>;
  /** ID of this open log, as in `LaneHolder.log`. */
  readonly log: string;
}

/**
 * Waits until a living holder has finished its transactions in flight and released the lane, because its group has told it that the lane moves.
 * The wait only avoids that both holders request the same page. Without it, the fence would still stop the older one.
 */
export async function awaitHandover({ handoverMs, ...options }: HandoverOptions & { readonly handoverMs: number }): Promise<void> {
  const deadline = performance.now() + handoverMs;
  for (;;) {
    const found = await holderInGroup(options);
    // An earlier opening by this log has nothing in flight any more.
    if (found === undefined || found.log === options.log) return;
    if (found.lives !== true || performance.now() >= deadline) return;
    await sleep(POLL_MS);
  }
}

/** Returns the holder if it must keep the lane, because its group lists it as a member or doesn't respond in time. */
export async function holderToSpare(options: HandoverOptions): Promise<LaneHolder | undefined> {
  const found = await holderInGroup(options);
  return found?.lives === false ? undefined : found;
}

/**
 * Finds the holder among the group's members. A holder outside the group never learns that the lane moves, so there is no point in waiting
 * for it, nor for one that has released the lane.
 */
async function holderInGroup({
  writer,
  client,
}: HandoverOptions): Promise<(LaneHolder & { readonly lives: boolean | undefined }) | undefined> {
  const holder = await writer.currentHolder();
  if (holder?.member === undefined || holder.released === true) return undefined;
  const { group, id } = holder.member;
  // Undefined if the group doesn't respond in time.
  const living = await client.run((cluster) =>
    withinTime(DESCRIBED_WITHIN_MS, cluster.ask(describeGroup, { groupId: group })).catch(() => undefined),
  );
  return { ...holder, lives: living?.has(id) };
}
