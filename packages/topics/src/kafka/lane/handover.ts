import { setTimeout as sleep } from 'node:timers/promises';
import type { LaneHolder } from './lane-log.ts';
import type { KafkaLaneWriter } from './lane-writer.ts';
import type { Client } from '../client/client.ts';
import { withinTime } from '../client/time-limit.ts';
import { describeGroup } from '../requests/groups.ts';

const POLL_MS = 100;
const DESCRIBED_WITHIN_MS = 1_000;

/**
 * Waits for up to `handoverMs` while a holder that may be alive finishes its transactions in flight and releases the lane. Without the wait, both
 * holders could do the same work. The fence stops the older holder in any case. `log`: ID of this open log, as in `LaneHolder.log`.
 */
export async function awaitHandover(writer: KafkaLaneWriter, client: Client, log: string, handoverMs: number): Promise<void> {
  const deadline = performance.now() + handoverMs;
  for (;;) {
    const found = await holderInGroup(writer, client);
    // An earlier opening of the lane by this same log needs no wait.
    if (found === undefined || found.log === log) return;
    if (found.lives === false || performance.now() >= deadline) return;
    await sleep(POLL_MS);
  }
}

/** Returns the holder if it may be alive: its group lists it as a member, or doesn't respond in time. */
export async function holderToSpare(writer: KafkaLaneWriter, client: Client): Promise<LaneHolder | undefined> {
  const found = await holderInGroup(writer, client);
  return found?.lives === false ? undefined : found;
}

/**
 * Returns the lane's holder, and whether its group lists it as a member. Undefined if the holder has released the lane, or isn't in a group: such a
 * holder never learns that the lane moves.
 */
async function holderInGroup(
  writer: KafkaLaneWriter,
  client: Client,
): Promise<(LaneHolder & { readonly lives: boolean | undefined }) | undefined> {
  const holder = await writer.currentHolder();
  if (holder?.member === undefined || holder.released === true) return undefined;
  const { group, id } = holder.member;
  // Undefined if the members of the group could not be fetched in time.
  const living = await client.run((cluster) =>
    withinTime(DESCRIBED_WITHIN_MS, cluster.ask(describeGroup, { groupId: group })).catch(() => undefined),
  );
  return { ...holder, lives: living?.members.some(({ memberId }) => memberId === id) };
}
