import { type FollowersSandbox, startFollowers } from '@headgate/sandbox';
import { type VirtualClock, virtualClock } from '@headgate/throttle/testing';
import { type LaneWriter, partitionForKey } from '@headgate/topics';
import { describe, expect, it } from 'vitest';
import { logWith } from '../run/log-with.fixture.ts';
import { SECRETS, followersYaml } from './headgate-process.fixture.ts';
import { type InProcessRun, inProcess } from './in-process.fixture.ts';

const HOUR_MS = 3_600_000;
/** Requests of a credential per hour. */
const LIMIT = 3;
const CREDENTIALS = { one: SECRETS.TOKEN, other: SECRETS.KEY };

describe('lanes and the budgets of their credentials', () => {
  it('each credential is used by one lane of a process, up to its whole budget', async () => {
    const clock = virtualClock();
    await using service = await twoCredentials(clock);
    await using place = await inProcess({ clock });
    const run = place.start(yaml(service, ['one', 'other'], usersOfLanes(2 * LIMIT)));
    for (const hour of [1, 2]) {
      await expect.poll(() => completed(run)).toBe(hour * 2 * LIMIT);
      await clock.advance(HOUR_MS + 10_000);
    }
    expect(await run.ended).toEqual([]);
    expect(asked(service)).toEqual({ one: 2 * LIMIT, other: 2 * LIMIT, refused: 0 });
  });

  it('a credential that moves to another lane keeps its used budget', async () => {
    const clock = virtualClock();
    await using service = await twoCredentials(clock);
    await using place = await inProcess({ clock });
    const users = usersOfLanes(2 * LIMIT);
    const first = place.start(yaml(service, ['one', 'other'], users));
    await expect.poll(() => completed(first)).toBe(2 * LIMIT);
    first.stop();
    await first.ended;

    const second = place.start(yaml(service, ['other', 'one'], users));
    await expect.poll(() => second.events.filter(({ type }) => type === 'request-started').length).toBe(2 * LIMIT);
    await clock.advance(HOUR_MS + 10_000);
    await expect.poll(() => completed(second)).toBe(2 * LIMIT);
    expect(asked(service)).toEqual({ one: 2 * LIMIT, other: 2 * LIMIT, refused: 0 });
  });

  it('a log that takes seconds to commit delays requests, but blocks none', async () => {
    const clock = virtualClock();
    await using service = await twoCredentials(clock);
    await using place = await inProcess({
      clock,
      around: (log) =>
        logWith(log, {
          async openLane(lane, signal) {
            const writer = await log.openLane(lane, signal);
            const commit = writer.transaction.bind(writer);
            const transaction: LaneWriter['transaction'] = async (work) => {
              await clock.advance(5_000);
              await commit(work);
            };
            return Object.assign(writer, { transaction });
          },
        }),
    });
    const run = place.start(followersYaml({ url: service.url, users: ['user_0', 'user_1'] }));
    await expect.poll(() => completed(run)).toBe(2);
    expect(await run.ended).toEqual([]);
    expect(asked(service)).toEqual({ one: 2, other: 0, refused: 0 });
  });
});

/** A service that counts its windows on the run's virtual clock. */
function twoCredentials(clock: VirtualClock): Promise<FollowersSandbox> {
  return startFollowers({
    users: Object.fromEntries(Array.from({ length: 100 }, (_, i) => [`user_${i}`, { followers: 1 }])),
    credentials: Object.entries(CREDENTIALS).map(([name, bearer]) => ({ name, bearer })),
    window: { kind: 'rolling', limit: LIMIT, windowMs: HOUR_MS },
    now: () => clock.epochMs(),
  });
}

/** Names of users for two lanes, `each` of them per lane. */
function usersOfLanes(each: number): string[] {
  const names = Array.from({ length: 100 }, (_, i) => `user_${i}`);
  return [0, 1].flatMap((lane) => names.filter((name) => partitionForKey(`@${name}`, 2) === lane).slice(0, each));
}

function yaml({ url }: FollowersSandbox, credentials: readonly (keyof typeof CREDENTIALS)[], users: readonly string[]): string {
  const variables = { one: 'TOKEN', other: 'KEY' };
  return `topics: { driver: sqlite, file: ./headgate.db, lanes: 2 }
status: false
followers:
  baseUrl: ${url}
  credentials: [${credentials.map((name) => `{ name: ${name}, bearer: "\${${variables[name]}}" }`).join(', ')}]
  limit: { requests: ${LIMIT}, window: 1h }
  users: [${users.join(', ')}]
`;
}

function completed({ events }: InProcessRun): number {
  return events.filter(({ type }) => type === 'request-completed').length;
}

function asked({ requests }: FollowersSandbox): Record<'one' | 'other' | 'refused', number> {
  const of = (name: string): number => requests.filter(({ credential }) => credential === name).length;
  return { one: of('one'), other: of('other'), refused: requests.filter(({ status }) => status !== 200).length };
}
