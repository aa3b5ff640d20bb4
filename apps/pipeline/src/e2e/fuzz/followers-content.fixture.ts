import type { Content } from './hostile-service.fixture.ts';

export interface FollowersContent extends Content {
  /** The sent lists of IDs, as JSON, by user and cursor. */
  readonly told: ReadonlyMap<string, ReadonlySet<string>>;
}

const COUNT = 10;
const CURSOR = 1_500_000_000_000_000_000n;

/** A service of followers. `users`: the number of IDs on each page of a user, by name. */
export function followersContent(users: Readonly<Record<string, readonly number[]>>): FollowersContent {
  const told = new Map<string, Set<string>>();
  const cursorOf = (page: number): string => (page === 0 ? '-1' : String(CURSOR + BigInt(page)));
  return {
    told,
    fields: ['ids', 'ids.0', 'next_cursor', 'next_cursor_str', 'previous_cursor', 'previous_cursor_str', 'errors'],
    good(_, { searchParams }) {
      const pages = users[searchParams.get('screen_name') ?? ''];
      const page = pages?.findIndex((_, i) => cursorOf(i) === (searchParams.get('cursor') ?? '-1')) ?? -1;
      const size = pages?.[page];
      if (pages === undefined || size === undefined) return undefined;
      const next = page + 1 < pages.length ? cursorOf(page + 1) : '0';
      return {
        ids: Array.from({ length: Math.min(size, COUNT) }, (_, i) => String(9_000_000_000_000_000_000n + BigInt(page * COUNT + i))),
        next_cursor_str: next,
        next_cursor: Number(next),
        previous_cursor_str: page === 0 ? '0' : `-${cursorOf(page)}`,
        previous_cursor: 0,
      };
    },
    sent({ searchParams }, { ids }) {
      if (!Array.isArray(ids)) return;
      const at = `@${searchParams.get('screen_name') ?? ''} ${searchParams.get('cursor') ?? '-1'}`;
      told.set(at, (told.get(at) ?? new Set()).add(JSON.stringify(ids)));
    },
  };
}
