/** The requests that somebody looks for. */
export interface WorkFilter {
  /** Part of their names, in any case; empty: all. */
  readonly text: string;
  readonly state: (typeof STATES)[number];
  /** Maximum rows. */
  readonly most: number;
}

export const STATES = ['all', 'working', 'failed', 'done'] as const;
export const ROWS = [25, 100, 300] as const;

/** Parses the query of an address; ignores what it doesn't understand. */
export function workFilter(query: string): WorkFilter {
  const given = new URLSearchParams(query);
  return {
    text: (given.get('q') ?? '').slice(0, 100),
    state: STATES.find((state) => state === given.get('state')) ?? 'all',
    most: ROWS.find((rows) => `${rows}` === given.get('rows')) ?? ROWS[0],
  };
}
