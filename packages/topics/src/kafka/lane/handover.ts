import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Admin } from 'kafkajs';
import type { KafkaLaneWriter } from './lane-writer.ts';
import type { Link } from '../connection/link.ts';
import { groupMembers } from '../membership/group-members.ts';

const LOOK_AGAIN_MS = 100;

/**
 * Lets a living holder of the lane finish what it has in hand: it has been told by the group that the lane moves. A courtesy only, which
 * spares asking for a page twice: whoever holds the lane after that is fenced.
 */
export async function awaitHandover({
  writer,
  admin,
  handoverMs,
}: {
  readonly writer: KafkaLaneWriter;
  readonly admin: Link<Admin>;
  readonly handoverMs: number;
}): Promise<void> {
  const deadline = performance.now() + handoverMs;
  for (;;) {
    const holder = await writer.currentHolder();
    // Who isn't in a group is told by nobody, and doesn't know that it should go.
    if (holder?.member === undefined || holder.released === true) return;
    // An earlier opening of our own has nothing in hand any more.
    if (holder.host === hostname() && holder.pid === process.pid) return;
    const { group, id } = holder.member;
    const living = await admin.run((connection) => groupMembers({ admin: connection, group }));
    if (living?.has(id) !== true || performance.now() >= deadline) return;
    await sleep(LOOK_AGAIN_MS);
  }
}
