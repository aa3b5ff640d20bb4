import { createCursorCodec } from './follower-cursor.ts';
import type { CursorCodec } from './follower-cursor.ts';
import { createFollowerList } from './follower-list.ts';
import type { FollowerList } from './follower-list.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';
import { hash32 } from '../seeded-random.ts';

/** One account of the followers service. */
export interface FollowersUser {
  /** User ID, in digits. Default: derived from the name and the seed. */
  readonly id?: string;
  /** Number of followers, generated on demand, or their IDs, newest first. Default 0. */
  readonly followers?: number | readonly string[];
  /** Responds with the 401 of a protected account: to all credentials, or to all but the named ones. Default false. */
  readonly protected?: boolean | readonly string[];
  /** Responds with this error instead of a list: 17 no user matches, 34 no such page, 50 not found, 63 suspended. Default: none. */
  readonly error?: 17 | 34 | 50 | 63;
  /**
   * Share of the followers that are suspended, and so left out: 0 to below 1. Above 0, whole ranges of `pageSize` followers are left out, too,
   * always including the second range. Default 0.
   */
  readonly suspendedShare?: number;
  /** A new follower appears at the list's front each time this many pages have been served. A crawl can then see an ID twice. Default: never. */
  readonly shiftEvery?: number;
  /** Maximum IDs per page, 1 to 5000. Default 5000. */
  readonly pageSize?: number;
}

interface ServedUser {
  readonly user: FollowersUser;
  readonly id: string;
  readonly pageSize: number;
  readonly list: FollowerList;
  readonly cursors: CursorCodec;
}

export interface UserDirectory {
  readonly byName: (screenName: string) => ServedUser | undefined;
  readonly byId: (userId: string) => ServedUser | undefined;
  /** Adds an account, or replaces it. Throws `SandboxOptionError` for the ID of another account, or for invalid values. */
  readonly set: (screenName: string, user: FollowersUser) => void;
}

/** Creates the accounts. Throws `SandboxOptionError` for duplicate names or IDs, and for invalid values. */
export function createUserDirectory(users: Readonly<Record<string, FollowersUser>>, seed: number): UserDirectory {
  const names = new Map<string, ServedUser>();
  const ids = new Map<string, ServedUser>();
  const set = (screenName: string, user: FollowersUser): void => {
    const name = screenName.toLowerCase();
    const { followers = 0, suspendedShare, shiftEvery, pageSize = 5000 } = user;
    const key = hash32(seed, name);
    const id = user.id ?? names.get(name)?.id ?? String(1_000_000 + key);
    const served: ServedUser = {
      user,
      id,
      pageSize,
      list: createFollowerList({
        followers,
        ...(suspendedShare === undefined ? {} : { suspendedShare }),
        ...(shiftEvery === undefined ? {} : { shiftEvery }),
        blockSize: pageSize,
        seed: key,
      }),
      cursors: createCursorCodec(key),
    };
    if (!/^\d+$/u.test(id)) throw new SandboxOptionError(`The id of user ${screenName} is "${id}"; give digits.`);
    const before = names.get(name);
    if ((ids.get(id) ?? before) !== before)
      throw new SandboxOptionError(`The user id ${id} occurs twice, the second time for ${screenName}.`);
    if (before !== undefined) ids.delete(before.id);
    names.set(name, served);
    ids.set(id, served);
  };
  for (const [screenName, user] of Object.entries(users)) {
    if (names.has(screenName.toLowerCase())) {
      throw new SandboxOptionError(`The user ${screenName} occurs twice; screen names aren't case-sensitive.`);
    }
    set(screenName, user);
  }
  return { set, byName: (screenName) => names.get(screenName.toLowerCase()), byId: (userId) => ids.get(userId) };
}
