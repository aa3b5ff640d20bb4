import { checkNumbers } from '../option-number.ts';
import { hash32, mix32 } from '../seeded-random.ts';
import { SandboxOptionError } from '../sandbox-option-error.ts';

export interface FollowerListOptions {
  /** Number of followers, generated on demand, or their IDs, newest first. */
  readonly followers: number | readonly string[];
  /**
   * Share of the followers that are suspended, and so left out: 0 to below 1. Above 0, whole ranges of `blockSize` followers are left out, too,
   * always including the second range. Default 0.
   */
  readonly suspendedShare?: number;
  /** A new follower appears at the list's front each time this many pages have been served. Default: never. */
  readonly shiftEvery?: number;
  /** Length, in followers, of a range that can be suspended as a whole. Default 5000. */
  readonly blockSize?: number;
  /** Seed of the IDs and of the suspended followers. Default 1. */
  readonly seed?: number;
}

/** One user's followers by position, 0 the newest. */
export interface FollowerList {
  /** Number of positions, including suspended followers and newcomers. */
  readonly length: () => number;
  /** Returns the IDs at positions `from` up to, not including, `to`, without the suspended ones; costs O(to - from). */
  readonly slice: (from: number, to: number) => string[];
  /** Records that a page was served: every `shiftEvery` pages, a newcomer appears. */
  readonly pageServed: () => void;
}

/**
 * Creates the list of one user. Generated IDs are distinct. Most are between 2^60 and 2^61, some are above 2^62, and some are as small as those of
 * old accounts. Throws `SandboxOptionError` for invalid options.
 */
export function createFollowerList(options: FollowerListOptions): FollowerList {
  const { followers, suspendedShare = 0, shiftEvery = Number.POSITIVE_INFINITY, blockSize = 5000, seed = 1 } = options;
  check(options);
  const base = typeof followers === 'number' ? followers : followers.length;
  const listed = new Set(typeof followers === 'number' ? [] : followers);
  const newcomers: string[] = [];
  let newcomerIndex = 2 ** 32;
  let pages = 0;

  const idAt = (index: number): string => (typeof followers === 'number' ? generatedId(seed, index) : (followers[index] ?? ''));
  const suspendedBelow = Math.round(suspendedShare * 2 ** 32);
  const isSuspended = (index: number): boolean => {
    if (suspendedShare === 0) return false;
    const block = Math.floor(index / blockSize);
    return block === 1 || hash32(seed, 'block', block) < suspendedBelow / 4 || hash32(seed, 'one', index) < suspendedBelow;
  };
  const nextNewcomer = (): string => {
    for (;;) {
      newcomerIndex -= 1;
      const id = generatedId(seed, newcomerIndex);
      if (!listed.has(id)) return id;
    }
  };

  return {
    length: () => base + newcomers.length,
    slice(from, to) {
      const ids: string[] = [];
      const end = Math.min(to, base + newcomers.length);
      for (let position = Math.max(0, from); position < end; position++) {
        const newcomer = newcomers[newcomers.length - 1 - position];
        const index = position - newcomers.length;
        if (newcomer !== undefined) ids.push(newcomer);
        else if (!isSuspended(index)) ids.push(idAt(index));
      }
      return ids;
    },
    pageServed() {
      pages += 1;
      if (pages % shiftEvery === 0) newcomers.push(nextNewcomer());
    },
  };
}

/** Returns the ID at an index. `low` is a bijection of the index, so all IDs are distinct. */
function generatedId(seed: number, index: number): string {
  const low = mix32(index ^ mix32(seed));
  const kind = hash32(seed, 'kind', index) % 100;
  const random = hash32(seed, 'high', index);
  if (kind < 8) return String(low + 12);
  const high = kind < 14 ? 2 ** 30 + (random >>> 2) : kind < 24 ? 2 ** 22 + (random >>> 8) : 2 ** 28 + (random >>> 4);
  return String((BigInt(high) << 32n) | BigInt(low));
}

function check({ followers, suspendedShare = 0, shiftEvery, blockSize = 5000 }: FollowerListOptions): void {
  if (!Array.isArray(followers)) checkNumbers({ followers }, { least: 0, most: 2 ** 31 });
  else {
    // IDs are inserted into JSON unquoted: a leading zero or a sign would change their meaning.
    const wrong = followers.find((id) => !/^(?:0|[1-9]\d*)$/u.test(id));
    if (wrong !== undefined) throw new SandboxOptionError(`"${wrong}" in followers isn't an ID; write IDs as strings of digits.`);
  }
  checkNumbers({ suspendedShare }, { least: 0, most: 0.999_999, fractions: true });
  if (shiftEvery !== undefined) checkNumbers({ shiftEvery }, { least: 1, most: Infinity });
  checkNumbers({ pageSize: blockSize }, { least: 1, most: 5_000 });
}
