import type { JobFilter } from '../format-row.ts';

const STATES = ['all', 'working', 'failed', 'done'] as const;
const ROWS = [25, 100, 300] as const;

/** Reads the filter from the query of an address. Unknown parameters and invalid values are ignored. */
export function jobFilter(query: string): JobFilter {
  const given = new URLSearchParams(query);
  return {
    text: (given.get('q') ?? '').slice(0, 100),
    state: STATES.find((state) => state === given.get('state')) ?? 'all',
    most: ROWS.find((rows) => `${rows}` === given.get('rows')) ?? ROWS[0],
  };
}
