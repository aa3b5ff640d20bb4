import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { LaneHolder } from './lane-log.ts';
import type { KafkaLaneWriter } from './lane-writer.ts';
import type { ReconnectingClient } from '../client/reconnecting-client.ts';
import { groupMembers } from '../group/group-members.ts';

const LOOK_AGAIN_MS = 100;

export interface HandoverOptions {
  readonly writer: KafkaLaneWriter;
  readonly admin: ReconnectingClient<Admin>;
}

/**
 * Lets a living holder of the lane finish what it has in hand: it has been told by the group that the lane moves. A courtesy only, which
 * spares asking for a page twice: whoever holds the lane after that is fenced.
 */
export async function awaitHandover({ handoverMs, ...options }: HandoverOptions & { readonly handoverMs: number }): Promise<void> {
  const deadline = performance.now() + handoverMs;
  for (;;) {
    const found = await holderInGroup(options);
    // An earlier opening of our own has nothing in hand any more.
    if (found === undefined || (found.host === hostname() && found.pid === process.pid)) return;
    if (found.lives !== true || performance.now() >= deadline) return;
    await sleep(LOOK_AGAIN_MS);
  }
}

/** The holder of the lane that has to be left alone: its group says that it lives, or doesn't answer. */
export async function holderToSpare(options: HandoverOptions): Promise<LaneHolder | undefined> {
  const found = await holderInGroup(options);
  return found?.lives === false ? undefined : found;
}

/** Who isn't in a group is told by nobody, and doesn't know that it should go: it is passed over, as is a holder that has given the lane up. */
async function holderInGroup({
  writer,
  admin,
}: HandoverOptions): Promise<(LaneHolder & { readonly lives: boolean | undefined }) | undefined> {
  const holder = await writer.currentHolder();
  if (holder?.member === undefined || holder.released === true) return undefined;
  const { group, id } = holder.member;
  const living = await admin.run((connection) => groupMembers({ admin: connection, group }));
  return { ...holder, lives: living?.has(id) };
}
