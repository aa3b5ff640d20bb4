import type { JobFilter } from '../format-row.ts';

const STATES = ['all', 'working', 'failed', 'done'] as const;
const ROWS = [25, 100, 300] as const;

/** Reads the query of an address; whatever it does not understand is as if it were not there. */
export function jobFilter(query: string): JobFilter {
  const given = new URLSearchParams(query);
  return {
    text: (given.get('q') ?? '').slice(0, 100),
    state: STATES.find((state) => state === given.get('state')) ?? 'all',
    most: ROWS.find((rows) => `${rows}` === given.get('rows')) ?? ROWS[0],
  };
}
