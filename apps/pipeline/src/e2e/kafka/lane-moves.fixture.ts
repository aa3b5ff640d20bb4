import { partitionForKey } from '@headgate/topics';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FollowersUser } from '@headgate/sandbox';
import type { KafkaPlace } from './kafka-place.fixture.ts';
import type { Fleet, LogLine, Runner } from './fleet.fixture.ts';

/** A signal to a process, and its effect on the lanes that the process held. */
export interface Blow {
  readonly kind: 'SIGKILL' | 'SIGTERM' | 'SIGSTOP';
  readonly name: string;
  /** Time of the signal, epoch ms. */
  readonly at: number;
  readonly lanes: readonly number[];
  /** Time until another process opened each lane, ms, in the order of `lanes`. */
  readonly takenAfterMs: readonly number[];
}

/** The lanes that a process holds, from the logs of all processes, because a frozen process doesn't know who has taken its lanes. */
export function lanesOf(fleet: Pick<Fleet, 'runners'>, runner: Runner): readonly number[] {
  const changes = fleet.runners.flatMap((one) =>
    one.lines().flatMap(({ at, event, lane }) => {
      if (lane === undefined || (event !== 'lane-opened' && event !== 'lane-left')) return [];
      return [{ at, by: one, lane, isOpened: event === 'lane-opened' }];
    }),
  );
  const holders = new Map<number, Runner>();
  for (const { by, lane, isOpened } of changes.toSorted((one, other) => one.at - other.at)) {
    if (isOpened) holders.set(lane, by);
    else if (holders.get(lane) === by) holders.delete(lane);
  }
  return [...holders].flatMap(([lane, holder]) => (holder === runner ? [lane] : [])).toSorted((one, other) => one - other);
}

export async function statusOf(runner: Runner): Promise<string> {
  const { msg = '' } = await runner.said(({ event, msg: words }) => event === 'notice' && words?.startsWith('status at ') === true);
  return /http:\S+/.exec(msg)?.[0] ?? '';
}

const READY_WITHIN_MS = 120_000;

/** Waits until a process is ready, with lanes or standing by. Resolves to the address of its status page. */
export async function joined(runner: Runner): Promise<string> {
  const status = await statusOf(runner);
  for (const deadline = Date.now() + READY_WITHIN_MS; ; await sleep(50)) {
    const { status: code } = await fetch(new URL('/readyz', status));
    if (code === 200) return status;
    if (Date.now() > deadline) throw new Error(`${runner.name} was not ready within ${READY_WITHIN_MS / 1_000} s.`);
  }
}

/** Sends a signal, and waits until other processes have opened all lanes of the victim. Rejects after 120 s. */
export async function strike(fleet: Fleet, victim: Runner, kind: Blow['kind']): Promise<Blow> {
  const lanes = lanesOf(fleet, victim);
  const at = Date.now();
  victim.signal(kind);
  const openings = await Promise.all(lanes.map(async (lane) => opened(fleet, lane, { after: at, not: victim })));
  return { kind, name: victim.name, at, lanes, takenAfterMs: openings.map((line) => line.at - at) };
}

async function opened(fleet: Fleet, lane: number, { after, not }: { readonly after: number; readonly not: Runner }): Promise<LogLine> {
  for (const deadline = after + 120_000; Date.now() < deadline; await sleep(20)) {
    for (const runner of fleet.runners) {
      if (runner === not) continue;
      const line = runner.lines().find((one) => one.event === 'lane-opened' && one.lane === lane && one.at >= after);
      if (line !== undefined) return line;
    }
  }
  throw new Error(`Nobody opened lane ${lane} within 120 s of what happened to ${not.name}.`);
}

/** Users with `each` of them in every lane. */
export function usersPerLane(options: {
  readonly lanes: number;
  readonly each: number;
  readonly user: FollowersUser;
}): Record<string, FollowersUser> {
  const { lanes, each, user } = options;
  const users: Record<string, FollowersUser> = {};
  const counts = Array.from({ length: lanes }, () => 0);
  for (let i = 0; Object.keys(users).length < lanes * each; i += 1) {
    const lane = partitionForKey(`@user${i}`, lanes);
    if ((counts[lane] ?? each) >= each) continue;
    counts[lane] = (counts[lane] ?? 0) + 1;
    users[`user${i}`] = user;
  }
  return users;
}

/** Number of different pages that were requested. */
export function pagesAsked({ service }: Pick<KafkaPlace, 'service'>): number {
  return new Set(service.requests.map(({ user, cursor }) => `${user} ${cursor}`)).size;
}

/**
 * Pages that were requested twice without a reason. The only valid reason is a process that was killed or frozen, because each of its
 * crawls can have had one request in flight.
 */
export function needlessRepeats({ service, lanes }: Pick<KafkaPlace, 'service' | 'lanes'>, blows: readonly Blow[]): readonly string[] {
  const firsts = new Map<string, number>();
  const used = new Set<string>();
  const needless: string[] = [];
  for (const { user = '', cursor, at } of service.requests) {
    const page = `${user} ${cursor}`;
    const first = firsts.get(page);
    firsts.set(page, at);
    if (first === undefined) continue;
    const lane = partitionForKey(`@${user}`, lanes);
    const reason = blows.find(
      (blow) =>
        blow.kind !== 'SIGTERM' &&
        blow.lanes.includes(lane) &&
        blow.at >= first - COUNTED_WITHIN_MS &&
        blow.at <= at &&
        !used.has(`${blow.at} ${user}`),
    );
    if (reason === undefined) needless.push(`${page} at ${new Date(first).toISOString()} and ${new Date(at).toISOString()}`);
    else used.add(`${reason.at} ${user}`);
  }
  return needless;
}

/** Maximum time (ms) from the kill or freeze of a process until the service counts the last request that the process had sent. */
const COUNTED_WITHIN_MS = 1_500;
